/**
 * The thread that renders what users wrote: a text comes, its HTML goes back, in the same order.
 */
import { parentPort } from 'node:worker_threads';
import { renderUserText } from './user-text.ts';

parentPort?.on('message', (text: string) => {
  const { html, isCut } = renderUserText(text);
  parentPort?.postMessage({ html, isCut });
});
