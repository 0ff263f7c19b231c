import assert from 'node:assert/strict';
import type { EditorWindow } from './window';

/** The lines of the terminal that is on the screen, and of the output. */
export const terminalLine = '.terminal-wrapper.active .xterm-rows > div';

/** Milliseconds from the next Enter key until an element that can be seen says exactly this. */
export async function timeFromEnter(
  window: EditorWindow,
  text: string,
  selector = terminalLine,
): Promise<() => Promise<number>> {
  await window.page.evaluate(`(() => {
    const timing = (globalThis.limpetTiming = {});
    const look = () => {
      const found = timing.start && [...document.querySelectorAll(${JSON.stringify(selector)})]
        .some((element) => element.textContent.replaceAll('\\u00a0', ' ').trim() === ${JSON.stringify(text)}
          && element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().height > 0);
      if (found) timing.elapsed = performance.now() - timing.start;
      else requestAnimationFrame(look);
    };
    const begin = ({ key }) => {
      if (key !== 'Enter') return;
      document.removeEventListener('keydown', begin, true);
      timing.start = performance.now();
      look();
    };
    document.addEventListener('keydown', begin, true);
  })()`);
  return async () => {
    const elapsed = await window.waitFor<number | undefined>(
      () => window.page.evaluate('globalThis.limpetTiming.elapsed'),
      (ms) => ms !== undefined,
    );
    assert.ok(elapsed !== undefined, `${text} never appeared`);
    return elapsed;
  };
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

export const ms = (value: number): string => `${Math.round(value)} ms`;
