import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { toSnake } from '../../protocol/dialect';
import { methods } from '../../protocol/methods';
import { LineClient } from '../helpers/line-client';
import { Sandbox } from '../helpers/sidecar';

const samples = { null: null, boolean: true, number: 7, string: 'text', array: [], object: {} };
type Kind = keyof typeof samples;

/** The one kind of JSON value that a field takes. */
function kindOf(schema: unknown): Kind {
  if (schema instanceof z.ZodOptional) return kindOf(schema.unwrap());
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return 'string';
  if (schema instanceof z.ZodNumber) return 'number';
  if (schema instanceof z.ZodBoolean || schema instanceof z.ZodLiteral) return 'boolean';
  if (schema instanceof z.ZodArray) return 'array';
  if (schema instanceof z.ZodRecord || schema instanceof z.ZodUnion) return 'object';
  throw new Error('the test does not know this kind of field yet');
}

interface Wrong {
  /** The value that is given to the field of params. */
  value: unknown;
  /** What the answer has to name, below that field. */
  below: string;
}

/** Every value of a wrong type for a field, and for what is in it. */
function wrongFor(schema: unknown): Wrong[] {
  if (schema instanceof z.ZodOptional) return wrongFor(schema.unwrap());
  const kinds = Object.keys(samples) as Kind[];
  const own = kinds.filter((kind) => kind !== kindOf(schema)).map((kind) => ({ value: samples[kind], below: '' }));
  return [...own, ...wrongWithin(schema)];
}

function wrongWithin(schema: unknown): Wrong[] {
  if (schema instanceof z.ZodRecord)
    return wrongFor(schema.valueType).map(({ value }) => ({ value: { GIVEN: value }, below: '.GIVEN' }));
  if (schema instanceof z.ZodArray)
    return wrongFor(schema.element).map(({ value }) => ({ value: [value], below: '[0]' }));
  if (!(schema instanceof z.ZodUnion)) return [];
  // A condition is one thing: the answer names the whole of it.
  return schema.options.flatMap((option) => {
    assert.ok(option instanceof z.ZodObject);
    return Object.entries(option.shape).flatMap(([name, field]) =>
      wrongFor(field).map(({ value }) => ({ value: { [toSnake(name)]: value }, below: '' })),
    );
  });
}

describe('a request with a field of a wrong type', () => {
  let sandbox: Sandbox;
  let client: LineClient;
  /** Would do something, if the request were carried out. */
  let right: Record<string, unknown>;

  before(async () => {
    sandbox = new Sandbox();
    client = await LineClient.connect((await sandbox.socketSidecar()).path);
    const { session_id } = await client.data('session.create', { cwd: sandbox.work, name: 'mine' });
    const { command_id } = await client.data('exec.start', {
      session_id,
      command: 'cat',
      background: true,
      keep_stdin_open: true,
    });
    right = {
      ...{ sessionId: session_id, commandId: command_id, command: `touch '${join(sandbox.work, 'ran')}'` },
      ...{ name: 'other', clientName: 'other', protocolVersion: 1, data: 'told\n' },
    };
  });
  after(async () => {
    client.dispose();
    await sandbox.dispose();
  });

  /** Everything that a request could have changed. */
  const state = async () => {
    const { sessions } = await client.data('session.list');
    const { commands } = await client.data('exec.list');
    return {
      sessions: sessions.map(({ last_active_at: _, ...session }: Record<string, unknown>) => session),
      commands: commands.map(({ activity: _, ...command }: Record<string, unknown>) => command),
      started: (await client.data('system.stats')).commands.started,
      ran: existsSync(join(sandbox.work, 'ran')),
    };
  };

  for (const [method, { params }] of Object.entries(methods)) {
    const fields = Object.entries(params.shape as Record<string, z.ZodType>);
    if (fields.length === 0) continue;

    it(`is refused by ${method}, which names the field and does nothing`, async () => {
      const before = await state();
      const asked = fields.filter(([name, schema]) => !(schema instanceof z.ZodOptional) || name === 'data');
      // It takes either of two, neither of them required.
      if (method === 'exec.cancel') asked.push(['commandId', params]);
      for (const [name, schema] of fields) {
        const given = Object.fromEntries(asked.map(([other]) => [toSnake(other), right[other]]));
        assert.ok(!Object.values(given).includes(undefined), 'the rest of the request is right');
        for (const { value, below } of wrongFor(schema)) {
          const field = `${toSnake(name)}${below}`;
          const { ok, error } = await client.request(method, { ...given, [toSnake(name)]: value });
          const what = `${method} with ${JSON.stringify(value)} as ${field}: ${error?.message}`;
          assert.deepEqual([ok, error?.code, error?.data], [false, 'invalid_params', { field }], what);
          assert.ok(error?.message.includes(`"${field}" must be `), what);
        }
      }
      assert.deepEqual(await state(), before);
    });
  }
});
