/**
 * A node and a headless Chromium for tests that look at pages. Where it is missing and cannot be installed,
 * the tests of the suite are skipped.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Test } from 'uvu';
import type { DemoFile } from '../../ops/demo/demo.ts';
import { makeFolder } from './folder.ts';
import { findFolder, findOrInstallProgram } from './needed-program.ts';
import { createSuiteNeeding } from './needing-suite.ts';
import { readDemo, type StartedNode, startNode } from './node-process.ts';

const findChromium = (): string =>
  findOrInstallProgram({
    name: 'Chromium',
    debianPackage: 'chromium',
    find: () => findFolder('chromium'),
    advice: 'Install Chromium so that `chromium` is in PATH.',
  });

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong for people who use a keyboard or a screen reader: rule and element. */
export const listViolations = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axe);
  return page.evaluate(`axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html }) => id + ': ' + html.slice(0, 200))))`);
};

/** A browser on a machine where twenty others wait for a core. */
export const browserPatienceMs = 300_000;

/** The browser's own calls home are off, so that every request seen is the page's. */
const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Lets a page that a test made itself load from a server on loopback.
  '--disable-features=LocalNetworkAccessChecks',
];

export const createBrowserSuite = (name: string): Test => createSuiteNeeding(name, findChromium);

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: join(findChromium(), 'chromium'),
    args: quiet,
    timeout: browserPatienceMs,
  });

/** A node with the demo, and a browser. A test may replace the node. */
export interface BrowserWorld {
  node: StartedNode;
  readonly browser: Browser;
  readonly demo: DemoFile;
  readonly folder: string;
  /** What the node was started with. */
  readonly settings: Readonly<Record<string, string>>;
  /** A page that waits long enough; `problems` lists what is wrong with what it loads and runs. */
  openPage(options?: BrowserContextOptions): Promise<{ page: Page; problems: string[] }>;
}

/** Notes errors, reports of the policy, questions, and requests to any address but these. */
const watchPage = (page: Page, addresses: readonly string[]): string[] => {
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('dialog', (dialog) => problems.push(`a dialog: ${dialog.message()}`) && dialog.dismiss());
  page.on('console', (message) => {
    if (/Content.Security.Policy|TrustedHTML/i.test(message.text())) problems.push(message.text());
  });
  page.on('request', (request) => {
    const isOwn = [...addresses, 'data:', 'blob:'].some((address) => request.url().startsWith(address));
    if (!isOwn) problems.push(`a request to ${request.url()}`);
  });
  return problems;
};

/** A suite whose tests share a node with the demo, and a browser. `world` is empty until the first test. */
export const createPageSuite = (
  name: string,
  readSettings: () => Promise<Record<string, string>> | Record<string, string> = () => ({}),
): { test: Test; world: BrowserWorld } => {
  const test = createBrowserSuite(name);
  const world = {} as BrowserWorld;
  test.before(async () => {
    const folder = makeFolder('rollcall-browser-');
    const settings = { DEMO: 'on', ...(await readSettings()) };
    const node = await startNode({ dataDir: folder, settings });
    const browser = await openBrowser();
    const openPage = async (options: BrowserContextOptions = {}) => {
      const page = await browser.newPage(options);
      page.setDefaultTimeout(browserPatienceMs);
      return { page, problems: watchPage(page, [world.node.url, world.node.adminUrl]) };
    };
    Object.assign(world, { node, browser, folder, settings, openPage, demo: readDemo(folder) });
  });
  test.after(async () => {
    await world.browser?.close();
    await world.node?.stop();
  });
  return { test, world };
};
