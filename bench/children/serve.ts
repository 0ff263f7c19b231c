/** Answers the harness one question at a time until it hangs up. */
export function serve(answers: Record<string, () => Promise<unknown>>, dispose: () => Promise<void>): void {
  process.on('message', (question: string) => {
    const answer = answers[question];
    if (answer === undefined) throw new Error(`No answer to "${question}".`);
    void answer().then((value) => process.send?.(value));
  });
  process.on('disconnect', () => void dispose().then(() => process.exit(0)));
  process.send?.('ready');
}
