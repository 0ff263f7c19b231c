import { z } from 'zod';
import { path, signalName } from '../values';

const minute = 60_000;
export const defaultYieldMs = 30_000;
export const defaultMaxTokens = 4000;

const milliseconds = (about: string, most = 10 * minute) => z.int().min(1).max(most).optional().describe(about);

const commandId = z.string().min(1).max(200).describe('The command id from an earlier result.');
const session = z.string().min(1).max(200);
const environment = z.record(z.string(), z.string());
const maxTokens = z
  .int()
  .min(50)
  .max(100_000)
  .optional()
  .describe(`About how many tokens of output to return at most (default ${defaultMaxTokens}); the middle is left out.`);

const conditions = {
  output: z
    .string()
    .min(1)
    .max(10_000)
    .optional()
    .describe('A regular expression that its output matches, now or earlier.'),
  port: z.int().min(1).max(65_535).optional().describe('A TCP port on this machine that accepts connections.'),
  file: path.optional().describe("A file that exists; a relative path is taken from the session's directory."),
  silenceMs: milliseconds('It has printed nothing for this long.'),
};

const run = z.strictObject({
  command: z.string().min(1).describe('Shell text, of any length: several lines, pipes and here-documents are fine.'),
  session: session
    .optional()
    .describe(
      'Name or id of a session; a name that is not there yet makes one. Default: the session of this workspace.',
    ),
  cwd: path
    .optional()
    .describe(
      'Run it in this directory (an absolute path); the session itself stays where it is. To move the session, use cd in a command.',
    ),
  env: environment.optional().describe('Variables for this command only.'),
  stdin: z.string().optional().describe('Text to give it as its whole standard input. Default: empty input.'),
  interactive: z
    .boolean()
    .optional()
    .describe('Keep its standard input open for limpet_send_input, and answer as soon as it waits for input.'),
  background: z
    .boolean()
    .optional()
    .describe('For servers and watchers: answer at once and leave the session free for other commands.'),
  waitFor: z
    .strictObject(conditions)
    .optional()
    .describe('With background: answer as soon as one of these holds, the command ends, or yieldMs is over.'),
  yieldMs: milliseconds(
    `How long to wait before answering "still running" (default ${defaultYieldMs}); the command goes on.`,
  ),
  timeoutMs: milliseconds('Stop the command after this long. Default: never.', 24 * 60 * minute),
  maxTokens,
});

const wait = z.strictObject({
  commandId,
  until: z
    .strictObject({ ...conditions, input: z.boolean().optional().describe('It waits for input.') })
    .optional()
    .describe('Any one of these ends the wait. Default: its end, which always ends the wait.'),
  timeoutMs: milliseconds(`How long to wait (default ${defaultYieldMs}); the command goes on.`),
  maxTokens,
});

const read = z.strictObject({
  commandId,
  stream: z.enum(['stdout', 'stderr', 'both']).optional().describe('Default: both, in the order they were printed.'),
  cursor: z
    .string()
    .regex(/^\d{1,15}(\.\d{1,15})?$/, { error: 'is not a cursor: take it from an earlier result as it stands' })
    .optional()
    .describe('Read on from here; earlier results tell the cursor.'),
  tailLines: z.int().min(1).max(100_000).optional().describe('Only the last lines.'),
  grep: z.string().min(1).max(10_000).optional().describe('Only lines that match this regular expression.'),
  maxTokens,
});

const input = z.strictObject({
  commandId,
  text: z.string().optional().describe('What to type; end it with a newline to submit a line.'),
  eof: z.boolean().optional().describe('End its input, as Ctrl-D does.'),
  waitMs: milliseconds('How long to wait for what it prints in answer (default 5000).'),
  maxTokens,
});

const stop = z.strictObject({
  commandId,
  signal: signalName.optional().describe('Send this signal. Default: interrupt, then terminate, then kill.'),
});

const create = z.strictObject({
  name: session.optional().describe('How to call it later. Default: its id.'),
  cwd: path.optional().describe('Where it starts, an absolute path. Default: the workspace folder.'),
  shell: z.string().min(1).max(4096).optional().describe('bash, zsh, or a path to one. Default: bash.'),
  env: environment.optional().describe('Variables that all its commands see.'),
  loadUserProfile: z.boolean().optional().describe("Load the user's rc files. Default: a clean shell."),
});

export interface ToolDefinition {
  /** For people. */
  title: string;
  summary: string;
  /** For models: what it does, what it returns, when to use it and when not. */
  description: string;
  icon: string;
  /** How people refer to it in a prompt. */
  reference: string;
  /** It changes nothing, so nobody has to be asked. */
  readOnly: boolean;
  input: z.ZodType;
}

/** Every tool that agents get, once; MCP and VS Code both take them from here. */
export const tools = {
  limpet_run_command: {
    title: 'Run Command',
    summary: 'Run a command in a persistent shell session',
    description: `Runs shell text in a persistent session: directory, variables, functions and virtual environments stay for the next command. Returns outcome, exact exit code, directory, duration, and stdout and stderr apart. A non-zero exit code is a normal result. A command that takes longer than yieldMs is not stopped: the answer says "still running" with its command id; go on with limpet_wait_for_command. Use background with waitFor for servers and watchers; do not append "&" or sleep to wait for them. There is no terminal: editors and pagers do not work, and standard input is empty unless stdin or interactive is given. Commands in one session run one after the other; use another session name to run things side by side.`,
    icon: '$(terminal)',
    reference: 'limpetRun',
    readOnly: false,
    input: run,
  },
  limpet_wait_for_command: {
    title: 'Wait for Command',
    summary: 'Wait until a command ends or a condition holds',
    description: `Waits until a running command ends, prints something, opens a port, or another condition holds, and returns its state, result and output. Use it after limpet_run_command said "still running" and instead of polling or sleeping. When the time is over the command goes on. Not for reading output that is already there: use limpet_read_output.`,
    icon: '$(watch)',
    reference: 'limpetWait',
    readOnly: true,
    input: wait,
  },
  limpet_read_output: {
    title: 'Read Output',
    summary: "Read a command's output: from a cursor, its end, or matching lines",
    description: `Reads the output of a running or finished command: from a cursor on, its last lines, or the lines that match. Use it to get what a result left out, to look at a background command's log, or to search long output without running the command again. Returns at once; to wait for output use limpet_wait_for_command.`,
    icon: '$(output)',
    reference: 'limpetOutput',
    readOnly: true,
    input: read,
  },
  limpet_send_input: {
    title: 'Send Input',
    summary: 'Type into a running command',
    description: `Writes to the standard input of a command that was started with interactive, then returns what it printed in answer. Use it for prompts and interactive programs such as a Python or database prompt. When all the input is known beforehand, give stdin to limpet_run_command instead.`,
    icon: '$(keyboard)',
    reference: 'limpetInput',
    readOnly: false,
    input,
  },
  limpet_stop_command: {
    title: 'Stop Command',
    summary: 'Stop a running command and all its processes',
    description: `Stops a running command with all processes it started, and returns its result. The session and its state live on. Use it for servers that are no longer needed and commands that hang; do not use kill or pkill for them. With a signal that does not end commands, such as SIGUSR1, it only sends that.`,
    icon: '$(debug-stop)',
    reference: 'limpetStop',
    readOnly: false,
    input: stop,
  },
  limpet_list_sessions: {
    title: 'List Sessions',
    summary: 'List sessions with their commands',
    description: `Lists all sessions with their directory, their running and background commands and the last finished ones, with ids. Use it first when you do not know what is running, for example after losing context.`,
    icon: '$(list-tree)',
    reference: 'limpetSessions',
    readOnly: true,
    input: z.strictObject({}),
  },
  limpet_create_session: {
    title: 'Create Session',
    summary: 'Start another shell session',
    description: `Starts a session with a directory, shell or variables of its own. Only needed for those: limpet_run_command makes the workspace's session, and any session it is given a new name for, by itself.`,
    icon: '$(add)',
    reference: 'limpetNewSession',
    readOnly: false,
    input: create,
  },
  limpet_destroy_session: {
    title: 'Destroy Session',
    summary: 'End a session and everything it runs',
    description: `Ends a session: its commands, background ones too, are killed and its state is gone. Use it for sessions you made and no longer need. To end one command use limpet_stop_command.`,
    icon: '$(trash)',
    reference: 'limpetEndSession',
    readOnly: false,
    input: z.strictObject({ session: session.describe('Name or id of the session.') }),
  },
} as const satisfies Record<string, ToolDefinition>;

export type ToolName = keyof typeof tools;
export type ToolInput<N extends ToolName> = z.infer<(typeof tools)[N]['input']>;
export const toolNames = Object.keys(tools) as ToolName[];
export const isToolName = (name: string): name is ToolName => Object.hasOwn(tools, name);

/** The input as JSON Schema, in the plain subset that every model's API accepts. */
export function inputSchema(name: ToolName): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(tools[name].input, {
    target: 'draft-7',
    io: 'input',
    override: ({ jsonSchema }) => {
      delete jsonSchema.propertyNames;
    },
  });
  return schema;
}

/** What package.json declares as `contributes.languageModelTools`; a test keeps the two equal. */
export function contributedTools(): Record<string, unknown>[] {
  return toolNames.map((name) => {
    const { title, summary, description, icon, reference } = tools[name];
    return {
      name,
      toolReferenceName: reference,
      displayName: title,
      userDescription: summary,
      modelDescription: description,
      icon,
      canBeReferencedInPrompt: true,
      tags: ['limpet', 'shell', 'terminal'],
      inputSchema: inputSchema(name),
    };
  });
}
