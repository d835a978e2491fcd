/**
 * A whole Rollcall with its private listener too: what operators do there, clients see at the public one.
 */
import * as assert from 'uvu/assert';
import { createAdmin } from '../../../http/operator/listener.ts';
import type { StoreAccess } from '../../../http/operator/stores.ts';
import { watchFigures } from '../../../http/telemetry/figures.ts';
import { createMetrics } from '../../../http/telemetry/metrics.ts';
import { type Answer, type AskOptions, openWorld, type World, type WorldOptions } from '../api/world.ts';
import { silentLogger } from '../silent-logger.ts';

export const operatorToken = 'operator-of-this-test-operator-of-this-test';
export const readerToken = 'reader-of-this-test-reader-of-this-test';

export interface OperatedWorld extends World {
  readonly adminPort: number;
  /** Asks the private listener, with the operator's token by default. */
  operate(method: string, path: string, body?: unknown, token?: string): Promise<Operated>;
  /** Sends an operation, "METHOD /path". */
  send(line: string, body?: unknown): Promise<Operated>;
  /** Sends one that must succeed; resolves to its message. */
  done(line: string, body?: unknown): Promise<string>;
  /** Sends one that must fail; resolves to its status and code. */
  refused(line: string, body?: unknown): Promise<readonly [number, string]>;
  /** What clients read, as JSON; a node that is too busy to answer is asked again. */
  read(path: string): Promise<Operated['json']>;
  /** A user's vote, from a session of their own. */
  vote(user: string, target: string): Promise<Answer>;
}
export interface Operated {
  readonly status: number;
  /** Looked into freely by tests. */
  readonly json: ReturnType<typeof JSON.parse>;
}

const busyMsMax = 20_000;

const readFrom = async (world: World, path: string): Promise<Operated['json']> => {
  const endMs = performance.now() + busyMsMax;
  for (;;) {
    const { status, json } = await world.ask('GET', path);
    if (status !== 503 || performance.now() > endMs) return json;
  }
};

const longSeconds = 90 * 86_400;

export const openOperated = async (options: WorldOptions = {}): Promise<OperatedWorld> => {
  const world = await openWorld(options);
  const version = { version: '1.2.3', commit: 'unknown' };
  const figures = watchFigures(createMetrics([], version), world.app.clock);
  const admin = createAdmin({
    app: world.app,
    metrics: figures.metrics,
    // One test makes an operation fail; what fails elsewhere is seen by its status.
    logger: silentLogger,
    operators: [
      { name: 'admin', token: operatorToken, readOnly: false },
      { name: 'reader', token: readerToken, readOnly: true },
    ],
    commandStart: 'rollcall ops',
    hosts: [],
    stores: {} as StoreAccess, // Tests of the stores run whole nodes.
    live: { figures, waitingRoutes: new Set(), node: 'a', version: '1.2.3', listNodes: () => [] },
  });
  const adminPort = await admin.listen('127.0.0.1', 0);
  const operate = async (method: string, path: string, body?: unknown, token = operatorToken) => {
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, {
      method,
      headers: token === '' ? {} : { authorization: `Operator ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  };
  const send = (line: string, body?: unknown): Promise<Operated> => {
    const [method = '', path = ''] = line.split(' ');
    return operate(method, path, body);
  };
  return {
    ...world,
    adminPort,
    operate,
    send,
    done: async (line, body) => {
      const { status, json } = await send(line, body);
      assert.is(status, 200, JSON.stringify(json));
      return json.message;
    },
    refused: async (line, body) => {
      const { status, json } = await send(line, body);
      return [status, json.context.code];
    },
    read: (path) => readFrom(world, path),
    token: (kind, id, fields) => world.token(kind, id, { lastsSeconds: longSeconds, ...fields }),
    vote: async (user, target) => {
      const options: AskOptions = { token: await world.token('user', user, { lastsSeconds: longSeconds }) };
      return world.ask('PUT', `/users/${user}/${target}/votes?upvote=true`, options);
    },
    close: async () => {
      await admin.drain(500);
      await world.close();
    },
  };
};
