import { accessSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';

type WindowName = 'healthy' | 'broken' | 'untrusted';

/** What of the page's DOM the tests touch; the code of the project itself knows no DOM. */
interface RecordedElement {
  textContent: string;
  recordedTexts: string[];
}

declare class MutationObserver {
  constructor(callback: () => void);
  observe(target: RecordedElement, options: { subtree: boolean; childList: boolean; characterData: boolean }): void;
}

interface WindowFacts {
  url: string;
  runtimeDir: string;
  stateDir: string;
}

export function factsOf(name: WindowName): WindowFacts {
  const windows: Record<string, WindowFacts> = JSON.parse(process.env.LIMPET_TEST_WINDOWS ?? '{}');
  const facts = windows[name];
  if (facts === undefined) throw new Error('The window tests need running editors: npm run test:editor');
  return facts;
}

/** An editor window, in the words of someone who uses it. */
export class EditorWindow {
  readonly statusBarItem: Locator;
  readonly notifications: Locator;

  private constructor(
    readonly page: Page,
    private readonly browser: Browser,
  ) {
    this.statusBarItem = page.locator('.statusbar-item[id$="limpet.sidecar"]');
    this.notifications = page.locator('.notification-toast');
  }

  static async open(name: WindowName): Promise<EditorWindow> {
    const browser = await chromium.launch({
      executablePath: programOnPath('chromium'),
      headless: true,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    const window = new EditorWindow(await browser.newPage({ viewport: { width: 1200, height: 720 } }), browser);
    window.page.setDefaultTimeout(20_000);
    await window.page.goto(factsOf(name).url);
    await window.ready();
    return window;
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
    await this.icon.click();
    await this.page.locator('.sidebar').getByText('Sessions').first().waitFor();
  }

  async runCommand(title: string): Promise<void> {
    // Our commands are in the palette once our icon is in the activity bar.
    await this.icon.waitFor();
    await this.page.keyboard.press('F1');
    await this.page.locator('.quick-input-widget input').fill(`>${title}`);
    await this.page.getByRole('option', { name: title }).first().click();
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

  async screenshot(name: string): Promise<void> {
    // Out of the way, or the picture shows a hover.
    await this.page.mouse.move(600, 300);
    await this.page.locator('.workbench-hover').waitFor({ state: 'hidden' });
    await this.page.getByText('Activating Extensions').waitFor({ state: 'hidden' });
    await this.page.screenshot({ path: join(process.env.LIMPET_TEST_RESULTS ?? 'test-results', `${name}.png`) });
  }

  async close(): Promise<void> {
    await this.browser.close();
  }
}

function programOnPath(program: string): string {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      accessSync(join(folder, program));
      return join(folder, program);
    } catch {
      // The next folder may have it.
    }
  }
  throw new Error(`${program} is needed to open the window, and is not on PATH.`);
}
