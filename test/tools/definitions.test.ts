import assert from 'node:assert/strict';
import manifest from '../../package.json';
import { contributedTools, inputSchema, toolNames, tools } from '../../protocol/tools/definitions';

describe('the tools', () => {
  it('are in package.json as the code defines them; "npx tsx test/tools/write-contributions.ts" writes them anew', () => {
    assert.deepEqual(manifest.contributes.languageModelTools, contributedTools());
  });

  it('say when to use them, and describe every input', () => {
    for (const name of toolNames) {
      assert.ok(tools[name].description.length > 100, name);
      const { properties = {} } = inputSchema(name) as { properties?: Record<string, { description?: string }> };
      for (const [field, { description }] of Object.entries(properties)) assert.ok(description, `${name}.${field}`);
    }
  });

  it('have schemas of plain objects that refuse unknown fields', () => {
    for (const name of toolNames) {
      const schema = inputSchema(name);
      assert.equal(schema.type, 'object');
      assert.equal(schema.additionalProperties, false);
      assert.doesNotMatch(JSON.stringify(schema), /anyOf|oneOf|allOf|\$ref|propertyNames/);
    }
    assert.deepEqual(inputSchema('limpet_run_command').required, ['command']);
  });
});
