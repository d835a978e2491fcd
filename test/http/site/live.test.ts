/**
 * The live numbers of pages, with a document and an `EventSource` of the test's own: a hidden page has no
 * stream, and another stream is opened when the browser has given up.
 *
 * Own process.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('live numbers of pages');

class Stream extends EventTarget {
  static readonly CLOSED = 2;
  readyState = 0;
  readonly url: string;

  constructor(url: string) {
    super();
    this.url = url;
    streams.push(this);
  }

  close(): void {
    this.readyState = Stream.CLOSED;
  }

  /** What the server sends, or the browser says. */
  say(event: string, data = {}): void {
    this.dispatchEvent(Object.assign(new Event(event), { data: JSON.stringify(data) }));
  }

  /** Another answer than 200: browsers then try no more. */
  refuse(): void {
    this.readyState = Stream.CLOSED;
    this.say('error');
  }
}

const createPage = () => Object.assign(new EventTarget(), { hidden: false });
let page = createPage();
const { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout } = globalThis;
let streams: Stream[] = [];
let timers: { readonly run: () => void; readonly ms: number }[] = [];

test.before.each(() => {
  [streams, timers, page] = [[], [], createPage()];
  Object.assign(globalThis, {
    document: page,
    EventSource: Stream,
    setTimeout: (run: () => void, ms: number) => timers.push({ run, ms }),
    clearTimeout: (timer: number) => timers.splice(timer - 1, 1),
  });
});
test.after(() => {
  Object.assign(globalThis, { setTimeout: setRealTimeout, clearTimeout: clearRealTimeout });
});

const script = new URL('../../../http/site/page/live.ts', import.meta.url).href;
const { followTotals } = await import(script);

const show = (hidden: boolean): void => {
  page.hidden = hidden;
  page.dispatchEvent(new Event('visibilitychange'));
};
const countOpen = (): number => streams.filter(({ readyState }) => readyState !== Stream.CLOSED).length;

test('totals are shown, and a hidden page has no stream', () => {
  const shown: unknown[] = [];
  followTotals(['bot/1', 'pack/a b'], (data: unknown) => shown.push(data));
  streams[0]?.say('open');
  streams[0]?.say('totals', { target: 'bot/1' });
  show(true);
  const whileHidden = countOpen();
  show(false);
  streams[1]?.say('totals', { target: 'pack/a b' });

  assert.is(streams[0]?.url, '/feed?targets=bot%2F1,pack%2Fa%20b');
  assert.equal([whileHidden, countOpen()], [0, 1]);
  assert.equal(shown, [{ target: 'bot/1' }, { target: 'pack/a b' }]);
});

test('a page that is opened hidden waits until it is seen', () => {
  page.hidden = true;
  followTotals(['bot/1'], () => {});
  const before = streams.length;
  show(false);

  assert.equal([before, countOpen()], [0, 1]);
});

test('a stream that the browser has given up is opened again, ever later', () => {
  followTotals(['bot/1'], () => {});
  streams[0]?.say('open');
  streams[0]?.say('error');
  const whileBrowserTries = timers.length;
  streams[0]?.refuse();
  const first = timers.at(-1);
  first?.run();
  streams[1]?.refuse();

  assert.is(whileBrowserTries, 0);
  assert.ok(first && first.ms >= 5_000 && first.ms <= 10_000);
  assert.ok((timers.at(-1)?.ms ?? 0) >= 10_000);
  assert.is(streams.length, 2);
});

test('one that is refused at first, or whose targets are gone, stays closed', () => {
  for (const end of [
    (stream: Stream) => stream.refuse(),
    (stream: Stream) => {
      stream.say('open');
      stream.say('bye', { reason: 'gone' });
      stream.refuse();
    },
  ]) {
    const before = streams.length;
    followTotals(['bot/1'], () => {});
    end(streams[before] as Stream);
    show(false);

    assert.equal([streams.length - before, timers.length], [1, 0]);
  }
});

test.run();
