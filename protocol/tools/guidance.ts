/** What a model should know before its first call; MCP clients show it to theirs. */
export const guidance = `Limpet runs shell commands in persistent sessions.

- Run things with limpet_run_command. Directory, variables, functions and activated environments stay in the session, so do not repeat cd or source.
- It answers "still running" after yieldMs and never kills by itself: go on with limpet_wait_for_command, or limpet_stop_command.
- Servers and watchers: background true with waitFor port or output. Then use them from the same session, and stop them with limpet_stop_command.
- Programs that ask: interactive true, then limpet_send_input.
- Long output: limpet_read_output with grep, tailLines or the cursor from the result. Do not run the command again.
- Lost track: limpet_list_sessions.`;
