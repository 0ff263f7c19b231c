/** Rebuilds both streams from a command's log, by the contract and independent of what writes it. */
export function parsePrefixLog(log: Buffer): { stdout: Buffer; stderr: Buffer } {
  const pieces: Record<1 | 2, Buffer[]> = { 1: [], 2: [] };
  let at = 0;
  while (at < log.length) {
    const newline = log.indexOf(0x0a, at);
    if (newline === -1) throw new Error(`The log ends within a line, at ${at} of ${log.length}.`);
    const [stream, again, mark] = log.subarray(at, at + 3);
    if ((stream !== 1 && stream !== 2) || again !== stream || (mark !== stream && mark !== 0)) {
      throw new Error(`No prefix but ${log.subarray(at, at + 3).toString('hex')} at ${at}.`);
    }
    // A fragment's newline belongs to the log, a line's to the output.
    pieces[stream].push(log.subarray(at + 3, mark === 0 ? newline : newline + 1));
    at = newline + 1;
  }
  return { stdout: Buffer.concat(pieces[1]), stderr: Buffer.concat(pieces[2]) };
}
