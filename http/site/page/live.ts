/**
 * Follows the numbers of listings while the page is visible. Over HTTP/1.1 a browser opens at most six
 * connections to a server, so the streams of six hidden tabs would leave none for a seventh page.
 */

/** After the first loss of a stream; twice as long after each that follows. */
const retryMsMin = 5_000;
const retryMsMax = 300_000;

/** Calls `show` with the data of each `totals` message about these targets. */
export const followTotals = (
  targets: readonly string[],
  show: (data: ReturnType<typeof JSON.parse>) => void,
): void => {
  const address = `/feed?targets=${targets.map(encodeURIComponent).join(',')}`;
  let feed: EventSource | null = null;
  let timer = 0;
  let waitMs = 0;
  const close = (): void => {
    clearTimeout(timer);
    feed?.close();
    feed = null;
  };
  const open = (): void => {
    close();
    if (document.hidden) return;
    const opened = new EventSource(address);
    feed = opened;
    opened.addEventListener('open', () => {
      waitMs = retryMsMin;
    });
    opened.addEventListener('totals', ({ data }) => show(JSON.parse(data)));
    opened.addEventListener('bye', ({ data }) => {
      if (JSON.parse(data).reason === 'gone') waitMs = 0;
    });
    // The browser itself opens a lost stream again, until it gets another answer than 200: a proxy's, while
    // the server restarts. One that was refused at first, or whose targets are gone, stays closed.
    opened.addEventListener('error', () => {
      if (opened.readyState !== EventSource.CLOSED) return;
      if (waitMs === 0) document.removeEventListener('visibilitychange', open);
      else timer = setTimeout(open, waitMs * (1 + Math.random()));
      waitMs = Math.min(retryMsMax, waitMs * 2);
    });
  };
  document.addEventListener('visibilitychange', open);
  open();
};
