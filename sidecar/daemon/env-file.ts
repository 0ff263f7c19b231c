/** Reads `NAME=value` lines: comments, `export`, and values in single or double quotes. Nothing is expanded. */
export function parseEnvFile(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const [, name, rest = ''] = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const quoted = /^(["'])(.*?)\1\s*(?:#.*)?$/.exec(rest);
    const value = quoted?.[2] ?? rest.replace(/(^|\s)#.*$/, '').trimEnd();
    if (value !== '') found[name] = value;
  }
  return found;
}
