/**
 * A headless Chromium for tests that look at pages and pictures. Where it is missing and cannot be installed,
 * the tests of the suite are skipped.
 */
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import type { Test } from 'uvu';
import { findFolder, findOrInstallProgram } from './needed-program.ts';
import { createSuiteNeeding } from './needing-suite.ts';

const findChromium = (): string =>
  findOrInstallProgram({
    name: 'Chromium',
    debianPackage: 'chromium',
    find: () => findFolder('chromium'),
    advice: 'Install Chromium so that `chromium` is in PATH.',
  });

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
