/** Rebuilds both streams from a command's log, by the contract and independent of what writes it. */
export function parsePrefixLog(log: Buffer): { stdout: Buffer; stderr: Buffer } {
  // Not piece by piece: a log may have millions of lines.
  const streams = { 1: Buffer.alloc(log.length), 2: Buffer.alloc(log.length) };
  const lengths = { 1: 0, 2: 0 };
  let at = 0;
  while (at < log.length) {
    const newline = log.indexOf(0x0a, at);
    if (newline === -1) throw new Error(`The log ends within a line, at ${at} of ${log.length}.`);
    const [stream, again, mark] = [log[at], log[at + 1], log[at + 2]];
    if ((stream !== 1 && stream !== 2) || again !== stream || (mark !== stream && mark !== 0)) {
      throw new Error(`No prefix but ${log.subarray(at, at + 3).toString('hex')} at ${at}.`);
    }
    // A fragment's newline belongs to the log, a line's to the output.
    lengths[stream] += log.copy(streams[stream], lengths[stream], at + 3, mark === 0 ? newline : newline + 1);
    at = newline + 1;
  }
  return { stdout: streams[1].subarray(0, lengths[1]), stderr: streams[2].subarray(0, lengths[2]) };
}
