/**
 * Three kinds of attack: one request after the other on many connections, many requests in one
 * write, and requests that never end. Each keeps its connections until the time is over and counts what
 * comes back.
 *
 * Runs in a process of its own (attacker-main.ts), so that it delays only itself.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { answersIn } from '../../http/raw.ts';

/** The server, and what an attacker knows of it. Crosses to another process as it is. */
export interface Target {
  readonly port: number;
  readonly adminPort: number;
  readonly operatorToken: string;
  /** A listed bot that no other client touches, its token, and the token of a user. */
  readonly bot: string;
  readonly botToken: string;
  readonly userToken: string;
  readonly connections: number;
  readonly seconds: number;
}

/** What came back to the attackers. */
export interface Harvest {
  /** Answers by status; a label may stand before the status. */
  readonly answers: Record<string, number>;
  /** Connections that the server closed. */
  closed: number;
  /** The oldest age at which it closed one, and the age of the oldest one left at the end; ms. */
  closedMsMax: number;
  openMsMax: number;
}

export const emptyHarvest = (): Harvest => ({ answers: {}, closed: 0, closedMsMax: 0, openMsMax: 0 });

const count = ({ answers }: Harvest, label: string, more = 1): void => {
  answers[label] = (answers[label] ?? 0) + more;
};

const ignore = (): void => {};
const reconnectMs = 20;

/** Opens a connection; its errors show as its end. */
const open = (port: number): Socket => {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  return socket.on('error', ignore);
};

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });

/** What all connections of an attack share: when it is over, and what came back. */
interface Attempt {
  readonly untilMs: number;
  readonly harvest: Harvest;
}

const begin = (seconds: number): Attempt => ({
  untilMs: performance.now() + seconds * 1_000,
  harvest: emptyHarvest(),
});

/* -------------------------------------------------------------- one by one */

export interface Flood {
  readonly port: number;
  readonly connections: number;
  /** The bytes of request `number` on connection `index`. */
  readonly request: (index: number, number: number) => string | Buffer;
  /** Stands before the status in the harvest. */
  readonly label?: string;
  /** Between an answer and the next request. */
  readonly pauseMs?: number;
}

/** Sends one request and resolves to the status, or to `null` when the connection ended without one. */
const askOn = (socket: Socket, bytes: string | Buffer): Promise<number | null> =>
  new Promise((resolve) => {
    let text = '';
    const finish = (status: number | null): void => {
      socket.off('data', take).off('close', end);
      resolve(status);
    };
    const take = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      const [answer] = answersIn(text);
      if (answer !== undefined) finish(answer.status);
    };
    const end = (): void => finish(null);
    socket.on('data', take).on('close', end);
    if (socket.destroyed) finish(null);
    else socket.write(bytes, 'latin1');
  });

const floodOn = async (flood: Flood, index: number, { untilMs, harvest }: Attempt): Promise<void> => {
  const { port, request, label = '', pauseMs = 0 } = flood;
  const isOver = (): boolean => performance.now() >= untilMs;
  let socket = open(port);
  const timer = setTimeout(() => socket.destroy(), untilMs - performance.now());
  for (let number = 0; !isOver(); number++) {
    const status = await askOn(socket, request(index, number));
    if (status !== null) count(harvest, `${label}${status}`);
    if (pauseMs > 0) await sleep(Math.min(pauseMs, Math.max(0, untilMs - performance.now())));
    if (isOver() || (status !== null && socket.writable)) continue;
    socket.destroy();
    harvest.closed += 1;
    await sleep(reconnectMs);
    socket = open(port);
  }
  clearTimeout(timer);
  socket.destroy();
};

/** As many requests as the server answers, one at a time on each connection. */
export const flood = async (target: Target, floods: readonly Flood[]): Promise<Harvest> => {
  const attempt = begin(target.seconds);
  const all = floods.flatMap((each) =>
    Array.from({ length: each.connections }, (_, index) => floodOn(each, index, attempt)),
  );
  await Promise.all([...all, sleep(target.seconds * 1_000)]);
  return attempt.harvest;
};

/* ------------------------------------------------------------ many at once */

const beginning = Buffer.from('HTTP/1.1 ');

/** Counts the answers that begin in a piece; the few that two pieces share are left out. */
const countBeginnings = (harvest: Harvest, piece: Buffer): void => {
  let at = piece.indexOf(beginning);
  while (at !== -1) {
    const status = piece.toString('latin1', at + beginning.length, at + beginning.length + 3);
    if (status.length === 3) count(harvest, status);
    at = piece.indexOf(beginning, at + beginning.length);
  }
};

/** What a connection sends: `opening`, an offer of a WebSocket, and once that is taken `write` for ever. */
export interface Pour {
  readonly opening?: string;
  readonly write: Buffer;
}

const pourOn = async (
  port: number,
  { opening, write }: Pour,
  { untilMs, harvest }: Attempt,
): Promise<void> => {
  while (performance.now() < untilMs) {
    const socket = open(port).on('data', (piece) => countBeginnings(harvest, piece));
    const timer = setTimeout(() => socket.destroy(), untilMs - performance.now());
    const pour = (): void => {
      if (socket.writable) socket.write(write, () => setImmediate(pour));
    };
    if (opening === undefined) socket.once('connect', pour);
    else {
      socket.once('connect', () => socket.write(opening));
      socket.once('data', (piece) => (piece.includes('HTTP/1.1 101') ? pour() : socket.destroy()));
    }
    await closed(socket);
    clearTimeout(timer);
    if (performance.now() >= untilMs) return;
    harvest.closed += 1;
    await sleep(reconnectMs);
  }
};

/** Writes the same bytes on each connection as fast as the server takes them, and reads what it answers. */
export const pour = async (target: Target, build: (index: number) => Pour): Promise<Harvest> => {
  const attempt = begin(target.seconds);
  const all = Array.from({ length: target.connections }, (_, index) =>
    pourOn(target.port, build(index), attempt),
  );
  await Promise.all(all);
  return attempt.harvest;
};

/* ------------------------------------------------------------ without an end */

export interface Drip {
  /** Sent at once. */
  readonly opening: string;
  /** Sent again and again, so often. */
  readonly piece: Buffer;
  readonly everyMs: number;
  /** Pieces of one connection at most, so that its request never ends. */
  readonly piecesMax: number;
}

/** Time in which the server has to close a connection whose request does not end, and some to notice. */
const patienceMs = 15_000;

/** Opens one connection and waits until the server closes it, or for so long. */
const dripOnce = async (port: number, drip: Drip, harvest: Harvest): Promise<void> => {
  const socket = open(port).on('data', (piece) => countBeginnings(harvest, piece));
  let openedMs = performance.now();
  let pieces = 0;
  const send = (): void => {
    if (!socket.writable || socket.writableNeedDrain || pieces === drip.piecesMax) return;
    pieces += 1;
    socket.write(drip.piece);
  };
  let timer: NodeJS.Timeout | undefined;
  socket.once('connect', () => {
    openedMs = performance.now();
    socket.write(drip.opening, 'latin1');
    timer = setInterval(send, drip.everyMs);
  });
  let left = false;
  const patience = setTimeout(() => {
    left = true;
    socket.destroy();
  }, patienceMs);
  await closed(socket);
  clearInterval(timer);
  clearTimeout(patience);
  const ageMs = performance.now() - openedMs;
  if (left) harvest.openMsMax = Math.max(harvest.openMsMax, ageMs);
  else {
    harvest.closed += 1;
    harvest.closedMsMax = Math.max(harvest.closedMsMax, ageMs);
  }
};

const dripOn = async (port: number, drip: Drip, { untilMs, harvest }: Attempt): Promise<void> => {
  do {
    await dripOnce(port, drip, harvest);
    await sleep(reopenMs);
  } while (performance.now() < untilMs);
};

const openedAtOnce = 250;
/** Slow clients are no flood. */
const reopenMs = 1_000;

/**
 * Opens all connections, the kinds in turn, and each again once the server has closed it. Waits for the end
 * of all.
 */
export const drip = async (target: Target, drips: readonly Drip[]): Promise<Harvest> => {
  const { port, connections, seconds } = target;
  const attempt = begin(seconds);
  const all: Promise<void>[] = [];
  for (let index = 0; index < connections; index++) {
    all.push(dripOn(port, drips[index % drips.length] as Drip, attempt));
    if (index % openedAtOnce === openedAtOnce - 1) await sleep(reconnectMs);
  }
  await Promise.all(all);
  return attempt.harvest;
};
