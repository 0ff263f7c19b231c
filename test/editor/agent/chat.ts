import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { EditorWindow } from '../window/window';
import type { Call } from './host/participant';

export interface AgentFacts {
  url: string;
  browser: string;
  report: string;
  workspace: string;
  runtimeDir: string;
  /** The user's settings. */
  settingsPath: string;
}

export function agentFacts(): AgentFacts {
  const facts = process.env.LIMPET_TEST_AGENT;
  if (facts === undefined) throw new Error('These tests need a running editor with an agent: npm run test:editor');
  return JSON.parse(facts);
}

/** What a person clicks when the editor asks whether a tool may run; "Allow" is for as long as the window is open. */
export type Click = 'Allow' | 'Allow Once' | 'Skip';

/** An editor window with its chat open, and a person who answers what the agent asks for. */
export class Chat {
  /** What the person was asked, as it was shown. */
  readonly questions: string[] = [];
  readonly window: EditorWindow;

  private constructor(
    readonly page: Page,
    private readonly browser: Browser,
    private readonly facts: AgentFacts,
  ) {
    this.window = new EditorWindow(page, browser);
  }

  static async open(facts = agentFacts()): Promise<Chat> {
    const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'];
    const browser = await chromium.launch({ executablePath: facts.browser, headless: true, args });
    const page = await browser.newPage({
      viewport: { width: 1400, height: 900 },
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    page.setDefaultTimeout(30_000);
    await page.goto(facts.url);
    await page.locator('.monaco-workbench .statusbar').waitFor();
    const chat = new Chat(page, browser, facts);
    await chat.window.runCommand('Chat: Open Chat');
    // The agent's model is offered once its extension is active.
    await chat.input.getByText('Scripted').waitFor();
    return chat;
  }

  get input(): Locator {
    return this.page.locator('.interactive-input-part');
  }

  /** What was allowed before counts no more. */
  async startAnew(): Promise<void> {
    this.questions.length = 0;
    await this.window.runCommand('Chat: Reset Tool Confirmations');
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }

  /** Sends a prompt to the agent, answers what it asks for, and tells what its tools told it. */
  async send<T = Call>(
    prompt: string,
    click: Click = 'Allow',
    { timeoutMs = 60_000, lookEveryMs = 100 } = {},
  ): Promise<T[]> {
    await this.submit(prompt);
    const deadline = Date.now() + timeoutMs;
    while (!this.isDone) {
      if (Date.now() > deadline) throw new Error('The agent did not end its work in time.');
      await this.answer(click);
      await this.page.waitForTimeout(lookEveryMs);
    }
    return JSON.parse(readFileSync(this.facts.report, 'utf8'));
  }

  async submit(prompt: string): Promise<void> {
    rmSync(this.facts.report, { force: true });
    const wanted = `@agent ${prompt}`;
    const isSent = await this.window.waitFor(
      () => this.enter(wanted),
      (isEmpty) => isEmpty,
    );
    assert.ok(isSent, `${wanted} was sent`);
  }

  /** Whatever the editor opens or closes meanwhile can take the focus, so what was typed is looked at, and that it is gone. */
  private async enter(text: string): Promise<boolean> {
    await this.input.locator('.monaco-editor').first().click();
    await this.page.keyboard.press('Control+a');
    await this.page.keyboard.type(text);
    await this.page.keyboard.press('Escape');
    if ((await this.written()) !== text) return false;
    await this.page.keyboard.press('Enter');
    const left = await this.window.waitFor(
      () => this.written(),
      (shown) => shown === '',
      3000,
    );
    return left === '';
  }

  private async written(): Promise<string> {
    const shown = await this.input.locator('.view-lines').first().textContent();
    return (shown ?? '').replaceAll('\u00a0', ' ').trim();
  }

  get isDone(): boolean {
    return existsSync(this.facts.report);
  }

  /** Answers the question that is asked, if there is one. */
  async answer(click: Click): Promise<void> {
    const buttons = this.question.locator('.chat-confirmation-widget-buttons');
    if (!(await buttons.isVisible())) return;
    // The command is shown in an editor of its own, a moment after the rest.
    await this.question.locator('.view-line').first().waitFor();
    // The next question takes its place at once, so this one is held on to.
    const asked = await this.question.elementHandle();
    this.questions.push(((await asked?.textContent()) ?? '').replaceAll('\u00a0', ' ').trim());
    await this.window.picture(`agent, question ${this.questions.length}`);
    if (click === 'Allow Once') {
      await this.openChoices();
      await this.window.choose(click);
    } else {
      await buttons.locator('.monaco-text-button', { hasText: new RegExp(`^${click}`) }).click();
    }
    await asked?.waitForElementState('hidden');
  }

  get question(): Locator {
    return this.page.locator('.chat-confirmation-widget2').last();
  }

  /** Opens the menu beside the button that allows, and tells what it offers. */
  async openChoices(): Promise<string[]> {
    const items = this.page.locator('.context-view .action-item [role="menuitem"], .context-view [role="menuitem"]');
    await this.window.waitFor(
      async () => {
        if (!(await items.first().isVisible())) await this.question.locator('.monaco-dropdown-button').click();
        await this.page.waitForTimeout(100);
        return items.first().isVisible();
      },
      (isOpen) => isOpen,
    );
    return items.allInnerTexts();
  }

  /** Clicks the button that ends the agent's work. */
  async cancel(): Promise<void> {
    await this.input.getByRole('button', { name: /^Cancel/ }).click();
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}
