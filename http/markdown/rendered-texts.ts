/**
 * What users wrote, as HTML, rendered in a thread of its own, so that the event loop waits for no text: after
 * an edit, and when a page is first shown. Recent ones are kept; one text is rendered once, for all who wait.
 *
 * At most `waitingMax` texts wait; above that a request gets `overloaded`. If the thread ends, as by lack of
 * memory, the text that it had is shown as plain text, and the next one starts another thread.
 */
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { DomainError } from '../../engine/errors.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import { renderPlain } from './user-text.ts';

export interface RenderedText {
  readonly html: string;
  /** Whether a part of it is shown as plain text, because a bound was reached. */
  readonly isCut: boolean;
}

const keptCharactersMax = 4 * 1024 * 1024;
const waitingMax = 64;
const threadMegabytesMax = 128;

const kept = new LRUCache<string, RenderedText>({
  maxSize: keptCharactersMax,
  sizeCalculation: ({ html }, text) => 256 + text.length + html.length,
});
/** In the order in which the thread has them. */
const waiting = new Map<string, PromiseWithResolvers<RenderedText>>();
let thread: Worker | null = null;

const finishFirst = (find: (text: string) => RenderedText): void => {
  for (const [text, { resolve }] of waiting) {
    const rendered = find(text);
    waiting.delete(text);
    kept.set(text, rendered);
    resolve(rendered);
    break;
  }
  // An idle thread keeps no process alive.
  if (waiting.size === 0) thread?.unref();
};

const startThread = (): Worker => {
  const started = new Worker(new URL('./user-text-thread.ts', import.meta.url), {
    name: 'markdown',
    resourceLimits: { maxOldGenerationSizeMb: threadMegabytesMax },
  });
  started.on('message', (rendered: RenderedText) => finishFirst(() => rendered));
  // What follows an error is the end.
  started.on('error', () => {});
  started.on('exit', () => {
    thread = null;
    finishFirst((text) => ({ html: `<p>${renderPlain(text)}</p>\n`, isCut: true }));
    for (const text of waiting.keys()) send(text);
  });
  return started;
};

const send = (text: string): void => {
  thread ??= startThread();
  thread.ref();
  thread.postMessage(text);
};

/** Renders a text, or finds it. Throws or rejects with `overloaded` when too many wait. */
export const findRenderedText = (text: string): MaybePromise<RenderedText> => {
  const found = kept.get(text) ?? waiting.get(text)?.promise;
  if (found !== undefined) return found;
  if (waiting.size >= waitingMax) throw new DomainError('overloaded', 'Too many pages wait to be rendered.');
  const job = Promise.withResolvers<RenderedText>();
  waiting.set(text, job);
  send(text);
  return job.promise;
};
