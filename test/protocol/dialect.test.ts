import assert from 'node:assert/strict';
import fc from 'fast-check';
import { z } from 'zod';
import { toSnake, translate } from '../../protocol/dialect';
import { methods } from '../../protocol/methods';
import { changeEvent, streamEvent, waitCondition } from '../../protocol/values';

describe('the line dialect of a message', () => {
  it("spells declared fields in snake_case and leaves a user's map alone", () => {
    const line = {
      session_id: 's',
      command: 'x',
      timeout_ms: 1,
      max_output_bytes: 2,
      on_busy: 'queue',
      env: { session_id: 'a', sessionId: 'b', timeoutMs: 'c' },
    };
    const camel = { sessionId: 's', command: 'x', timeoutMs: 1, maxOutputBytes: 2, onBusy: 'queue', env: line.env };
    assert.deepEqual(translate(methods['exec.run'].params, line, 'fromLine'), camel);
    assert.deepEqual(translate(methods['exec.run'].params, camel, 'toLine'), line);
  });

  it('reaches into lists, unions and optional objects', () => {
    assert.deepEqual(translate(z.array(waitCondition), [{ silence_ms: 1 }, { port: 2 }], 'fromLine'), [
      { silenceMs: 1 },
      { port: 2 },
    ]);
    assert.deepEqual(translate(streamEvent, { event: 'gap', seq: 1, droppedBytes: 2 }, 'toLine'), {
      event: 'gap',
      seq: 1,
      dropped_bytes: 2,
    });
    assert.deepEqual(translate(changeEvent, { event: 'session_gone', sessionId: 's' }, 'toLine'), {
      event: 'session_gone',
      session_id: 's',
    });
    const session = { sessionId: 's', runningCommand: { commandId: 'c', startedAt: 't' } };
    assert.deepEqual(translate(changeEvent, { event: 'session', session }, 'toLine'), {
      event: 'session',
      session: { session_id: 's', running_command: { command_id: 'c', started_at: 't' } },
    });
    assert.deepEqual(translate(methods['system.stats'].result, { limits: { maxSessions: 1 } }, 'toLine'), {
      limits: { max_sessions: 1 },
    });
  });

  it('refuses the other spelling, and leaves what is unknown for validation to report', () => {
    assert.throws(
      () => translate(methods['session.info'].params, { sessionId: 's' }, 'fromLine'),
      /write it as "session_id"/,
    );
    assert.deepEqual(translate(methods['session.info'].params, { other_thing: 1 }, 'fromLine'), { other_thing: 1 });
    assert.deepEqual(
      translate(methods['session.info'].params, JSON.parse('{"__proto__":1}'), 'fromLine'),
      JSON.parse('{"__proto__":1}'),
    );
  });

  it('brings every message back as it was', () => {
    for (const [name, definition] of Object.entries(methods)) {
      for (const schema of [
        definition.params,
        definition.result,
        ...('event' in definition ? [definition.event] : []),
      ]) {
        fc.assert(
          fc.property(sample(schema), (value) => {
            const line = translate(schema, value, 'toLine');
            assert.deepEqual(translate(schema, line, 'fromLine'), value, name);
          }),
          { numRuns: 20 },
        );
      }
    }
  });

  it('never gives two fields one name', () => {
    for (const { params, result } of Object.values(methods)) {
      for (const schema of [params, result]) {
        if (!(schema instanceof z.ZodObject)) continue;
        const names = Object.keys(schema.shape).map(toSnake);
        assert.equal(new Set(names).size, names.length);
      }
    }
  });
});

/** Any data of the shape, valid or not in its details: only the names matter here. */
function sample(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  if (schema instanceof z.ZodObject) {
    const entries = Object.entries(schema.shape).map(
      ([name, field]) => [name, sample(field as z.core.$ZodType)] as const,
    );
    const required = entries.filter(([name]) => !(schema.shape[name] instanceof z.ZodOptional)).map(([name]) => name);
    return fc.record(Object.fromEntries(entries), {
      requiredKeys: required,
      noNullPrototype: true,
    }) as fc.Arbitrary<unknown>;
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return sample(schema.unwrap());
  if (schema instanceof z.ZodArray) return fc.array(sample(schema.element), { maxLength: 3 });
  if (schema instanceof z.ZodUnion) return fc.oneof(...schema.options.map(sample));
  if (schema instanceof z.ZodRecord)
    return fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      fc.string(),
      { noNullPrototype: true },
    );
  if (schema instanceof z.ZodLiteral) return fc.constantFrom(...schema.values);
  return fc.oneof(fc.string(), fc.integer());
}
