/**
 * `rollcall ops top`: the live frames of a running node as one screen of text.
 *
 * Reads the same stream as the operator's page. On a terminal it draws over the other screen of the terminal,
 * until q or Ctrl-C, and waits for a node that restarts. Elsewhere it prints one screen and ends.
 */
import type { LiveFrame } from '../../http/telemetry/node-status.ts';
import type { Config } from '../config/config.ts';
import { CommandError, type Terminal } from './command.ts';
import { findKey, getNodeUrl, readReply, sendRequest } from './operator/call.ts';
import { formatScreen, type ScreenSize } from './top-screen.ts';

const retryMs = 2_000;
const plainSize: ScreenSize = { columns: 120, rows: 60, colour: false };
const [enterScreen, leaveScreen] = ['\u001b[?1049h\u001b[?25l', '\u001b[?25h\u001b[?1049l'];
/** To the first line; each line clears its rest, and the last one all below. */
const [home, clearLine, clearBelow] = ['\u001b[H', '\u001b[K', '\u001b[J'];

/** Yields the frames of one stream until it ends. Rejects with a `CommandError` when the node refuses. */
async function* readFrames(config: Config, signal: AbortSignal): AsyncGenerator<LiveFrame> {
  const response = await sendRequest(config, findKey(config), { method: 'GET', path: '/live' });
  if (!response.ok || response.body === null) {
    const { answer } = await readReply(response, getNodeUrl(config));
    throw new CommandError(`The node refuses: ${String(answer.message)}`);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const cancel = (): void => void reader.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    let text = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const events = (text + part.value).split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const data = /^event: frame\ndata: (.*)$/m.exec(event)?.[1];
        if (data !== undefined) yield JSON.parse(data) as LiveFrame;
      }
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    await reader.cancel().catch(() => {
      // The connection broke before: there is nothing to cancel.
    });
  }
}

type TerminalInput = NodeJS.ReadableStream & Partial<Pick<NodeJS.ReadStream, 'isTTY' | 'setRawMode'>>;

/** Aborted by q, Ctrl-C, or a signal. `release` gives the terminal back. */
const watchKeys = ({ input, signal }: Terminal) => {
  const quit = new AbortController();
  const keys = input as TerminalInput | undefined;
  const stop = (): void => quit.abort();
  const onKey = (key: Buffer): void => {
    if (['q', 'Q', '\u0003'].includes(key.toString())) stop();
  };
  signal.addEventListener('abort', stop, { once: true });
  if (keys?.isTTY === true) {
    keys.setRawMode?.(true);
    keys.on('data', onKey);
    keys.resume();
  }
  const release = (): void => {
    signal.removeEventListener('abort', stop);
    if (keys?.isTTY !== true) return;
    keys.off('data', onKey);
    keys.setRawMode?.(false);
    keys.pause();
  };
  return { signal: quit.signal, release };
};

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => [clearTimeout(timer), resolve()], { once: true });
  });

/** Draws until the operator quits. A stream that ends is opened again; without a first frame that fails. */
const drawFrames = async (config: Config, terminal: Terminal, signal: AbortSignal): Promise<void> => {
  const out = terminal.out as NodeJS.WriteStream;
  const draw = (lines: readonly string[]): void =>
    void out.write(`${home}${lines.join(`${clearLine}\n`)}${clearLine}${clearBelow}`);
  let frames = 0;
  signal.addEventListener('abort', () => frames > 0 && out.write(leaveScreen), { once: true });
  while (!signal.aborted) {
    let reason = 'The node has ended the stream.';
    try {
      for await (const frame of readFrames(config, signal)) {
        if (frames === 0) out.write(enterScreen);
        frames += 1;
        draw(formatScreen(frame, { columns: out.columns ?? 80, rows: out.rows ?? 24, colour: true }));
      }
    } catch (error) {
      if (frames === 0) throw error;
      reason = (error as Error).message;
    }
    if (signal.aborted) return;
    if (frames > 0) draw([reason, '', `Trying again every ${retryMs / 1_000} s; q ends.`]);
    await sleep(retryMs, signal);
  }
};

const readOneFrame = async (config: Config, signal: AbortSignal): Promise<LiveFrame> => {
  for await (const frame of readFrames(config, signal)) return frame;
  throw new CommandError('The node has ended the stream before its first frame.');
};

/** Resolves to 0 when the operator quits, or after one screen where there is no terminal. */
export const runTop = async (
  config: Config,
  terminal: Terminal,
  { json }: { readonly json: boolean },
): Promise<number> => {
  const { out } = terminal;
  if (json || out.isTTY !== true) {
    const frame = await readOneFrame(config, terminal.signal);
    out.write(
      json ? `${JSON.stringify(frame, null, 2)}\n` : `${formatScreen(frame, plainSize).join('\n')}\n`,
    );
    return 0;
  }
  const { signal, release } = watchKeys(terminal);
  try {
    await drawFrames(config, terminal, signal);
    return 0;
  } finally {
    release();
  }
};
