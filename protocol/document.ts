import { z } from 'zod';
import { toSnake } from './dialect';
import { errorCodes } from './errors';
import { exitCodes } from './exit-codes';
import { defaultLimits } from './limits';
import { methods } from './methods';
import * as values from './values';
import { protocolVersion } from './version';

/** Shapes that several messages share: they get a section of their own and are linked from there. */
const shared: [name: string, schema: z.core.$ZodType, about: string][] = [
  ['session info', values.sessionInfo, 'A session as it is now. Of its environment only the names are told.'],
  ['result', values.commandResult, 'What became of a command.'],
  ['snapshot', values.commandSnapshot, 'A command as it is now; the fields of its result follow once it has finished.'],
  ['stream event', values.streamEvent, 'A piece of output, or a notice that pieces before `seq` are no longer kept.'],
  ['limits', values.limits, 'The bounds in force; [their defaults](#default-limits) are below.'],
  ['change event', values.changeEvent, 'Something about a session or command is new.'],
];

/** docs/PROTOCOL.md, from the schemas that the sidecar itself checks messages with. */
export function protocolDocument(): string {
  return `${[introduction, envelope, errorSection(), methodSection(), sharedSection(), limitSection(), exitSection()].join('\n\n')}\n`;
}

const introduction = `# Protocol

Version ${protocolVersion}. This page is made from the schemas in \`protocol/\`; \`npx tsx test/protocol/write-document.ts\` writes it anew, and a
test fails when it differs from them.

One method table serves every transport:

- pipe: vscode-jsonrpc on \`sidecar.sock\` in the runtime directory; every sidecar that is not bound to standard input tries to be the one there
- \`--stdio\`: vscode-jsonrpc on standard input and output
- \`--socket PATH\`: a JSON object per line on a Unix socket
- \`--stdin\`: a JSON object per line on standard input and output; the end of input ends the sidecar
- \`--http HOST:PORT\`: \`POST /\` with one request per body

On vscode-jsonrpc field names are camelCase, on the others snake_case.

Below, names are in snake_case. Maps that belong to the user (\`env\`) are passed through untouched. Unknown fields are refused.

Times: \`…_at\` is ISO 8601, \`…_ms\` milliseconds, \`time\` milliseconds since 1970. Byte counts are exact and of the whole output.`;

const envelope = `## Envelope

Request: \`{"id":"1","method":"exec.run","params":{…}}\`. \`id\` is a string or a number and comes back as it was; \`params\` may be
left out. Response: \`{"id":"1","ok":true,"data":{…}}\` or
\`{"id":"1","ok":false,"error":{"code":"session_not_found","message":"…","data":{…}}}\`. A streamed method first sends
\`{"id":"1","event":"stdout","seq":3,"data":"…"}\` lines. Bytes that are not UTF-8 come with \`"encoding":"base64"\`.

- Requests on a connection run concurrently; responses come in the order of completion.
- \`exec.output\` is answered one request after the other for each connection, and only as fast as its client reads.
- A message without a usable \`id\` is answered with \`"id":null\`. An \`id\` that is still in use is refused with \`invalid_request\`.
- A line that is too long is answered with \`payload_too_large\`, skipped, and the next one is read. Blank lines are ignored.
- When a client ends its side of a socket, what it asked for is still answered; subscriptions end. When it is gone, its streams and
  waits end; commands it started go on.
- A client that does not read is paused: its streams wait, and nothing more is read from it. One that leaves more than 64 MiB of
  answers waiting, or does not move for 30 s with more than 1 MiB waiting, is disconnected.
- A connection that says nothing in its first minute is closed.

On vscode-jsonrpc the error code is in \`error.data.code\`. A streamed request carries a \`streamToken\` of the client's choice beside
its parameters, and its events come as \`$/progress\` under that token. \`$/cancelRequest\` ends a stream or a wait; the command goes on.

Over HTTP every request needs \`Authorization: Bearer TOKEN\` and \`Content-Type: application/json\`. A \`Host\` that is not the sidecar's
own, or any \`Origin\`, is refused. Streamed methods answer as \`application/x-ndjson\`. The status follows the error: 400 wrong request, 401 no
valid token, 403 wrong host or a web page, 404 no such method, session or command, 405 not POST, 409 busy or finished, 410 destroyed, 413 too
large, 415 not JSON, 429 and 503 too much, 500 a fault of ours. The body is always an envelope.`;

function errorSection(): string {
  return `## Error codes\n\n${errorCodes.map((code) => `\`${code}\``).join(', ')}.\n\nA message says what was wrong and what to do about it.`;
}

function methodSection(): string {
  const sections = Object.entries(methods).map(([name, definition]) => {
    const event = 'event' in definition ? `\n\nEvents: ${typeName(definition.event)}` : '';
    return `### ${name}\n\n${definition.about}\n\n${fields('Parameters', definition.params)}${event}\n\n${fields('Data', definition.result)}`;
  });
  return `## Methods\n\n${sections.join('\n\n')}`;
}

function sharedSection(): string {
  const sections = shared.map(([name, schema, about]) => {
    const body = schema instanceof z.ZodUnion ? alternatives(schema) : fields('Fields', schema, true);
    return `### ${capital(name)}\n\n${about}\n\n${body}`;
  });
  return `## Shapes\n\n${sections.join('\n\n')}`;
}

function alternatives(union: z.ZodUnion): string {
  return union.options
    .map((option) =>
      fields(`With \`event\` ${typeName((option as z.ZodObject).shape.event as z.core.$ZodType)}`, option, true),
    )
    .join('\n\n');
}

function limitSection(): string {
  const rows = Object.entries(defaultLimits).map(([name, value]) => `- \`${toSnake(name)}\`: ${value}`);
  return `## Default limits\n\nEach can be set with a flag (\`--max-sessions 10\`) or a variable (\`LIMPET_MAX_SESSIONS=10\`).\n\n${rows.join('\n')}`;
}

function exitSection(): string {
  const rows = Object.entries(exitCodes).map(([name, code]) => `- ${code}: ${toSnake(name).replaceAll('_', ' ')}`);
  return `## Exit codes of the sidecar\n\n${rows.join('\n')}`;
}

function fields(title: string, schema: z.core.$ZodType, expand = false): string {
  const known = expand ? undefined : sharedName(schema);
  if (known !== undefined) return `${title}: ${link(known)}`;
  if (!(schema instanceof z.ZodObject)) return `${title}: ${typeName(schema)}`;
  const rows = Object.entries(schema.shape).map(([name, field]) => row(name, field as z.core.$ZodType));
  if (rows.length === 0) return `${title}: none`;
  return `${title}:\n\n${rows.join('\n')}`;
}

function row(name: string, field: z.core.$ZodType): string {
  const optional = field instanceof z.ZodOptional;
  const inner = optional ? field.unwrap() : field;
  return `- \`${toSnake(name)}\`${optional ? ', optional' : ''}: ${typeName(inner)}`;
}

function typeName(schema: z.core.$ZodType): string {
  const known = sharedName(schema);
  if (known !== undefined) return link(known);
  if (schema instanceof z.ZodOptional) return typeName(schema.unwrap());
  if (schema instanceof z.ZodNullable) return `${typeName(schema.unwrap())} or null`;
  if (schema instanceof z.ZodArray) return `list of ${typeName(schema.element)}`;
  if (schema instanceof z.ZodEnum) return schema.options.map((option) => `\`"${option}"\``).join(', ');
  if (schema instanceof z.ZodLiteral)
    return [...schema.values].map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  if (schema instanceof z.ZodUnion) return `any of ${schema.options.map(typeName).join(', ')}`;
  if (schema instanceof z.ZodRecord) return 'map of names to text';
  if (schema instanceof z.ZodObject) return inline(schema);
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodString) return `text${bounds(schema.minLength, schema.maxLength, ' characters')}`;
  if (schema instanceof z.ZodNumber) {
    const whole = schema.isInt;
    return `${whole ? 'whole number' : 'number'}${bounds(schema.minValue, schema.maxValue, '')}`;
  }
  return 'any';
}

function inline(schema: z.ZodObject): string {
  const names = Object.entries(schema.shape).map(([name, field]) => {
    const optional = field instanceof z.ZodOptional ? '?' : '';
    return `\`${toSnake(name)}${optional}\` ${typeName(field as z.core.$ZodType)}`;
  });
  return `{ ${names.join(', ')} }`;
}

function bounds(low: number | null, high: number | null, unit: string): string {
  const safe = (value: number | null) => (value === null || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? null : value);
  const [from, to] = [safe(low), safe(high)];
  if (from !== null && to !== null) return `, ${from} to ${to}${unit}`;
  if (from !== null) return `, at least ${from}${unit}`;
  return to === null ? '' : `, at most ${to}${unit}`;
}

const sharedName = (schema: z.core.$ZodType) => shared.find(([, candidate]) => candidate === schema)?.[0];
const link = (name: string) => `[${name}](#${name.replaceAll(' ', '-')})`;
const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);
