import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { openBrowser } from './browser';
import { factsOf, type WindowName } from './facts';

/** What of the page's DOM the tests touch; the code of the project itself knows no DOM. */
interface RecordedElement {
  textContent: string;
  recordedTexts: string[];
}

declare class MutationObserver {
  constructor(callback: () => void);
  observe(target: RecordedElement, options: { subtree: boolean; childList: boolean; characterData: boolean }): void;
}

interface TreeRow {
  style: { top: string };
  textContent: string;
  getAttribute(name: string): string | null;
  querySelector(selector: string): { textContent: string } | null;
}

/** With every time replaced by T. */
export const withoutTimes = (text: string): string => text.replace(/\b\d+(\.\d+)? (ms|s)\b/g, 'T');

const usualSize = { width: 1200, height: 720 };

/** An editor window, in the words of someone who uses it. */
export class EditorWindow {
  readonly statusBarItem: Locator;
  readonly notifications: Locator;

  constructor(
    readonly page: Page,
    private readonly browser: Browser,
  ) {
    this.statusBarItem = page.locator('.statusbar-item[id$="limpet.sidecar"]');
    this.notifications = page.locator('.notification-toast');
  }

  static async open(name: WindowName): Promise<EditorWindow> {
    const browser = await openBrowser();
    const page = await browser.newPage({
      viewport: usualSize,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const window = new EditorWindow(page, browser);
    page.setDefaultTimeout(20_000);
    try {
      await page.goto(factsOf(name).url);
      await window.ready();
    } catch (error) {
      await window.close();
      throw error;
    }
    return window;
  }

  async resize(width = usualSize.width, height = usualSize.height): Promise<void> {
    await this.page.setViewportSize({ width, height });
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.ready();
  }

  private ready(): Promise<void> {
    return this.page.locator('.monaco-workbench .statusbar').waitFor();
  }

  /** The view container's icon in the activity bar. */
  get icon(): Locator {
    return this.page.getByRole('tab', { name: 'Limpet' });
  }

  async openLimpet(): Promise<void> {
    const title = this.page.locator('.sidebar .title-label').getByText('Sessions');
    const isOpen = await this.waitFor(
      async () => {
        // A click on the icon of an open view closes it, also of one that a reload is just opening again.
        const isChosen = (await this.icon.getAttribute('aria-selected')) === 'true';
        if (!isChosen) await this.icon.click();
        return title.waitFor({ timeout: 1000 }).then(
          () => true,
          () => false,
        );
      },
      (isVisible) => isVisible,
    );
    assert.ok(isOpen, 'the Limpet view is open');
  }

  async runCommand(title: string): Promise<void> {
    await (await this.listCommand(title)).click();
  }

  /** Takes an entry of an open list by typing its name: a list that is still being filled moves under a click. */
  async pick(name: string): Promise<void> {
    await this.input.fill(name);
    await this.focusEntry(this.page.getByRole('option', { name }).first());
    await this.page.keyboard.press('Enter');
  }

  /** Up to where Enter runs it. */
  async findCommand(title: string): Promise<void> {
    await this.focusEntry(await this.listCommand(title));
  }

  private async focusEntry(entry: Locator): Promise<void> {
    await entry.waitFor();
    await this.waitFor(
      async () => {
        if (/\bfocused\b/.test((await entry.getAttribute('class')) ?? '')) return true;
        await this.page.keyboard.press('ArrowDown');
        return false;
      },
      (isFound) => isFound,
    );
  }

  private async listCommand(title: string): Promise<Locator> {
    // Our commands are in the palette once our icon is in the activity bar.
    await this.icon.waitFor();
    const entry = this.page.getByRole('option', { name: title }).first();
    const isListed = await this.waitFor(
      async () => {
        await this.page.keyboard.press('F1');
        await this.input.fill(`>${title}`);
        // A palette that opens while another list is closing may stay empty; a person would open it again.
        return entry.waitFor({ timeout: 5000 }).then(
          () => true,
          () => this.page.keyboard.press('Escape').then(() => false),
        );
      },
      (isVisible) => isVisible,
    );
    assert.ok(isListed, `${title} is in the palette`);
    return entry;
  }

  /** The input of the palette, of a list to choose from, or of a question. */
  get input(): Locator {
    return this.page.locator('.quick-input-widget input');
  }

  /** The title of an input box that a command has opened. */
  get question(): Locator {
    return this.page.locator('.quick-input-widget .quick-input-title').getByText(/\w/);
  }

  async answer(text: string): Promise<void> {
    await this.question.waitFor();
    await this.input.fill(text);
    await this.input.press('Enter');
  }

  /** The Sessions view as text: a line for each row, indented by its level. */
  async tree(): Promise<string> {
    // No named function inside: it runs in the page, where the compiler's own helpers are not.
    const rows = await this.page.locator('.sidebar .monaco-list-row').evaluateAll((found: TreeRow[]) =>
      found.map((row) => ({
        top: Number.parseInt(row.style.top, 10),
        level: Number(row.getAttribute('aria-level')),
        label: row.querySelector('.label-name')?.textContent ?? '',
        description: row.querySelector('.label-description')?.textContent ?? '',
      })),
    );
    return rows
      .sort((a, b) => a.top - b.top)
      .map(({ level, label, description }) => `${'  '.repeat(level - 1)}${label}${description && ` | ${description}`}`)
      .join('\n');
  }

  row(text: string): Locator {
    return this.page.locator('.sidebar .monaco-list-row').filter({ hasText: text }).first();
  }

  /** A session's row may name a command too, so commands have their own. */
  commandRow(text: string): Locator {
    return this.page.locator('.sidebar .monaco-list-row[aria-level="2"]').filter({ hasText: text }).first();
  }

  /** Clicks a button that a row has under the pointer; the row may still be drawn anew. */
  async act(row: string, button: string): Promise<void> {
    await this.row(row).hover();
    await this.row(row).getByRole('button', { name: button }).click();
  }

  /** Clicks a row's button in the moment it appears, for one that is soon gone; answers later whether it was there. */
  async clickOnceThere(button: string): Promise<() => Promise<boolean>> {
    const selector = `.sidebar .monaco-list-row a[aria-label^="${button}"]`;
    await this.page.evaluate(`(() => {
      globalThis.limpetClicked = false;
      const look = () => {
        const found = document.querySelector(${JSON.stringify(selector)});
        if (found === null) return requestAnimationFrame(look);
        globalThis.limpetClicked = true;
        found.click();
      };
      look();
    })()`);
    return () => this.page.evaluate('globalThis.limpetClicked');
  }

  async closeNotifications(): Promise<void> {
    if ((await this.notifications.count()) === 0) return;
    await this.runCommand('Notifications: Clear All Notifications');
    await this.notifications.first().waitFor({ state: 'detached' });
  }

  /** Chooses from an open context menu, which takes no click in its first moment. */
  async choose(name: string): Promise<void> {
    const item = this.page.getByRole('menuitem', { name });
    await item.waitFor();
    await this.waitFor(
      async () => {
        await item.click({ timeout: 1000 }).catch(() => undefined);
        return item.isVisible();
      },
      (isOpen) => !isOpen,
    );
  }

  /** Closes a menu or an input that a failed test has left open. */
  async dismiss(): Promise<void> {
    await this.page.keyboard.press('Escape');
  }

  /** Waits until the view, with every time replaced by T, is exactly this. */
  async showsTree(expected: string): Promise<void> {
    const shown = await this.waitFor(
      async () => withoutTimes(await this.tree()),
      (tree) => tree === expected,
    );
    assert.equal(shown, expected);
  }

  /** The lines of the output panel that are on the screen. */
  async output(): Promise<string> {
    const lines = await this.page
      .locator('.panel .view-line')
      .evaluateAll((found: TreeRow[]) =>
        found.map((line) => ({ top: Number.parseInt(line.style.top, 10), text: line.textContent })),
      );
    return lines
      .sort((a, b) => a.top - b.top)
      .map(({ text }) => text.replaceAll('\u00a0', ' '))
      .join('\n');
  }

  /** All of the output panel, on the screen or not. */
  async wholeOutput(): Promise<string> {
    await this.page.locator('.panel .monaco-editor').first().click();
    await this.page.keyboard.press('Control+a');
    await this.page.keyboard.press('Control+c');
    return this.page.evaluate('navigator.clipboard.readText()');
  }

  /** The lines of the terminal that are on the screen. */
  async terminal(): Promise<string> {
    const rows = await this.page.locator('.terminal-wrapper.active .xterm-rows > div').allTextContents();
    return rows
      .map((row) => row.replaceAll('\u00a0', ' ').trimEnd())
      .join('\n')
      .trimEnd();
  }

  /** All of the terminal, on the screen or not, with every line in one piece. */
  async wholeTerminal(): Promise<string> {
    await this.page.evaluate('navigator.clipboard.writeText("")');
    await this.runCommand('Terminal: Select All');
    await this.runCommand('Terminal: Copy Selection');
    const copied = await this.waitFor(
      () => this.page.evaluate<string>('navigator.clipboard.readText()'),
      (text) => text !== '',
    );
    return copied.replace(/ +$/gm, '').trimEnd();
  }

  /** Types into what has the focus; a new line is the Enter key. */
  async type(text: string): Promise<void> {
    for (const [at, line] of text.split('\n').entries()) {
      if (at > 0) await this.page.keyboard.press('Enter');
      await this.page.keyboard.type(line);
    }
  }

  /** The last thing seen, whether it was what was waited for or not: so a failing test can show it. */
  async waitFor<T>(look: () => Promise<T>, isIt: (seen: T) => boolean, timeoutMs = 15_000): Promise<T> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const seen = await look();
      if (isIt(seen) || Date.now() > deadline) return seen;
      await this.page.waitForTimeout(20);
    }
  }

  async outputShows(expected: RegExp, timeoutMs?: number): Promise<string> {
    const seen = await this.waitFor(
      () => this.output(),
      (text) => expected.test(text),
      timeoutMs,
    );
    assert.match(seen, expected);
    return seen;
  }

  async terminalShows(expected: RegExp): Promise<string> {
    const seen = await this.waitFor(
      () => this.terminal(),
      (text) => expected.test(text),
    );
    assert.match(seen, expected);
    return seen;
  }

  /** The process id of the sidecar as the status bar tells it, once it tells one other than `not`. */
  async sidecarPid(not?: number): Promise<number> {
    const label = this.statusBarItem.locator('a');
    for (;;) {
      await label.and(this.page.locator('[aria-label*="is running"]')).waitFor();
      const pid = Number(/process (\d+)/.exec((await label.getAttribute('aria-label')) ?? '')?.[1]);
      if (pid > 0 && pid !== not) return pid;
      await this.page.waitForTimeout(10);
    }
  }

  /** Starts to note every text the status bar item shows: some states are there for a moment only. */
  async recordStatusBar(): Promise<() => Promise<string[]>> {
    await this.statusBarItem.evaluate((item: RecordedElement) => {
      const texts: string[] = [];
      item.recordedTexts = texts;
      new MutationObserver(() => texts.push(item.textContent.trim())).observe(item, {
        subtree: true,
        childList: true,
        characterData: true,
      });
    });
    return () => this.statusBarItem.evaluate((item: RecordedElement) => item.recordedTexts);
  }

  async widenSidebar(width: number): Promise<void> {
    const { x, y, width: before } = (await this.page.locator('.sidebar').boundingBox()) ?? { x: 0, y: 0, width: 0 };
    await this.page.mouse.move(x + before, y + 300);
    await this.page.mouse.down();
    await this.page.mouse.move(x + width, y + 300, { steps: 5 });
    await this.page.mouse.up();
  }

  /** One of the editor's own, such as Dark Modern. */
  async chooseTheme(theme: string): Promise<void> {
    await this.runCommand('Preferences: Color Theme');
    await this.input.fill(theme);
    await this.page.getByRole('option', { name: theme }).first().click();
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }

  async screenshot(name: string): Promise<void> {
    // Out of the way, or the picture shows a hover.
    await this.page.mouse.move(600, 300);
    await this.page.locator('.workbench-hover').waitFor({ state: 'hidden' });
    await this.page.getByText('Activating Extensions').waitFor({ state: 'hidden' });
    await this.picture(name);
  }

  /** As the window is, with what opens only for a moment. */
  async picture(name: string): Promise<void> {
    await this.page.screenshot({ path: resultPath(name) });
  }

  /** A part of the window, from its top and no higher than needed. */
  async pictureOf(selector: string, name: string, height = 260): Promise<void> {
    const box = await this.page.locator(selector).first().boundingBox();
    assert.ok(box, `${selector} is on the screen`);
    await this.page.screenshot({ path: resultPath(name), clip: { ...box, height: Math.min(box.height, height) } });
  }

  async close(): Promise<void> {
    await this.browser.close();
  }
}

const resultPath = (name: string) => join(process.env.LIMPET_TEST_RESULTS ?? 'test-results', `${name}.png`);
