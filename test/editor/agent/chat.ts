import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Call } from './host/participant';

export interface AgentFacts {
  url: string;
  browser: string;
  report: string;
  workspace: string;
  runtimeDir: string;
}

export function agentFacts(): AgentFacts {
  const facts = process.env.LIMPET_TEST_AGENT;
  if (facts === undefined) throw new Error('These tests need a running editor with an agent: npm run test:editor');
  return JSON.parse(facts);
}

/** An editor window with its chat open, and a person who allows what the agent asks for. */
export class Chat {
  /** What the person was asked, as it was shown. */
  readonly questions: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly browser: Browser,
    private readonly facts: AgentFacts,
  ) {}

  static async open(facts = agentFacts()): Promise<Chat> {
    const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];
    const browser = await chromium.launch({ executablePath: facts.browser, headless: true, args });
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    page.setDefaultTimeout(30_000);
    await page.goto(facts.url);
    await page.locator('.monaco-workbench .statusbar').waitFor();
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').fill('>Chat: Open Chat');
    await page.getByRole('option', { name: 'Chat: Open Chat' }).first().click();
    // The agent's model is offered once its extension is active.
    await page.locator('.interactive-input-part').getByText('Scripted').waitFor();
    return new Chat(page, browser, facts);
  }

  /** Sends a prompt to the agent, allows what it asks for, and answers with what its tools told it. */
  async send<T = Call>(prompt: string, timeoutMs = 60_000): Promise<T[]> {
    rmSync(this.facts.report, { force: true });
    await this.page.locator('.interactive-input-part .monaco-editor').first().click();
    await this.page.keyboard.type(`@agent ${prompt}`);
    await this.page.keyboard.press('Escape');
    await this.page.keyboard.press('Enter');
    const deadline = Date.now() + timeoutMs;
    while (!existsSync(this.facts.report)) {
      if (Date.now() > deadline) throw new Error('The agent did not end its work in time.');
      await this.allow();
      // Seldom: looking costs the window time that the agent's work is measured in.
      await this.page.waitForTimeout(100);
    }
    return JSON.parse(readFileSync(this.facts.report, 'utf8'));
  }

  private async allow(): Promise<void> {
    const question = this.page.locator('.chat-confirmation-widget2').last();
    const button = question.locator('.chat-confirmation-widget-buttons .monaco-text-button', { hasText: /^Allow/ });
    if (!(await button.isVisible())) return;
    // The command is shown in an editor of its own, a moment after the rest.
    await question.locator('.view-line').first().waitFor();
    this.questions.push(((await question.textContent()) ?? '').replaceAll('\u00a0', ' ').trim());
    await this.screenshot(`confirmation ${this.questions.length}`);
    await button.click({ timeout: 2000 }).catch(() => undefined);
    await button.waitFor({ state: 'hidden', timeout: 2000 }).catch(() => undefined);
  }

  async screenshot(name: string): Promise<void> {
    await this.page.screenshot({ path: join(process.env.LIMPET_TEST_RESULTS ?? 'test-results', `agent, ${name}.png`) });
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}
