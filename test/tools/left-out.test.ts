import assert from 'node:assert/strict';
import type { ToolClient } from '../../protocol/tools/client';
import { workspaceAt } from '../../protocol/tools/sessions';
import { Toolbox } from '../../protocol/tools/toolbox';

describe('limpet_read_output', () => {
  const end = 'The command has finished; this is the end of its output.';

  /** The tool's text about an answer of the sidecar's. */
  const told = async (input: object, data: string, droppedBytes: number) => {
    const chunks = data === '' ? [] : [{ seq: 1, stream: 'stdout', data, time: 0 }];
    const client = { request: async () => ({ chunks, nextSeq: 2, droppedBytes, finished: true }) };
    const toolbox = new Toolbox({
      client: client as unknown as ToolClient,
      workspace: workspaceAt('/work'),
      origin: 'an agent',
    });
    return (await toolbox.call('limpet_read_output', { commandId: 's-1:1', ...input })).text;
  };

  it('says what of the last lines had no room, and does not speak of matches', async () => {
    const note = '7 bytes of these lines are left out before this: ask for fewer lines, or raise maxTokens.';
    assert.equal(await told({ tailLines: 2 }, 'end\n', 7), `stdout:\nend\n\n${note}\n\n${end}`);
  });

  it('does not say that no line matches where one had no room', async () => {
    const note = '7 bytes of further matches are left out: narrow grep, or raise maxTokens.';
    assert.equal(await told({ grep: 'x' }, '', 7), `${note}\n\n${end}`);
    assert.equal(await told({ grep: 'x' }, '', 0), `No line matches.\n\n${end}`);
  });
});
