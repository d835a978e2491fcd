/**
 * The operator's page in a browser, and the node behind it, for http-operator-page.fault.ts.
 */
import type { Page } from 'playwright-core';
import * as assert from 'uvu/assert';
import { createPageSuite } from '../../support/browser.ts';

export const [robin, wren, reader] = ['robin', 'wren', 'reader'].map((name) => name.padEnd(40, '-')) as [
  string,
  string,
  string,
];

export const { test, world } = createPageSuite('operator page', () => ({
  TRUSTED_PROXIES: '127.0.0.1',
  ADMIN_TOKENS: `robin:${robin},wren:${wren},reader:${reader}:read`,
}));

export const operate = async (
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> => {
  const headers = { authorization: `Operator ${robin}` };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  return (await fetch(`${world.node.adminUrl}${path}`, init)).json() as Promise<Record<string, unknown>>;
};
export const readPublic = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(`${world.node.url}${path}`, { headers });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
};
export const listPending = async (): Promise<readonly { bot_id: string; name: string }[]> =>
  (await operate('GET', '/bots?type=pending')).bots as { bot_id: string; name: string }[];

export const readCommandStart = async (): Promise<string> =>
  (await operate('GET', '/page/operations')).command_start as string;

interface OpenedPage {
  readonly page: Page;
  /** Closes the page; fails for reports of the policy, uncaught errors and requests to elsewhere. */
  end(): Promise<void>;
}

export const openPage = async (
  token: string,
  place = '',
  width = 1_280,
  dark = false,
): Promise<OpenedPage> => {
  const { page, problems } = await world.openPage({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
  });
  await page.goto(`${world.node.adminUrl}/${place === '' ? '' : `#${place}`}`);
  if (token !== '') {
    await page.getByLabel("The operator's token").fill(token);
    await page.keyboard.press('Enter');
    await page.locator('header').waitFor();
  }
  const end = async (): Promise<void> => {
    await page.close();
    assert.equal(problems, []);
  };
  return { page, end };
};
