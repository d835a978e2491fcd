/**
 * Sends generated requests to a complete Rollcall and checks every reply against the published document.
 *
 * mutate.ts changes valid requests of every route, which have the tokens of a few people. A fault is an
 * undocumented status, code or shape, a 5xx other than 503, a missing request id, or a reply that reveals a
 * token, a stack or SQL. The seed of a run is printed; SEED repeats it.
 */
import { Agent, request as send } from 'node:http';
import { createRandom, type Random } from '../../../bench/shared/random.ts';
import type { TokenKind } from '../../../engine/rules/token.ts';
import { routes } from '../../../http/api/table.ts';
import type { World } from '../api/world.ts';
import { expected } from '../authorisation/expected.ts';
import { addPeople, newPeople, type People } from '../authorisation/people.ts';
import { sampleOf } from '../authorisation/requests.ts';
import { judgeReply } from '../published.ts';
import { mutate, type Sent } from './mutate.ts';

export interface FuzzReport {
  readonly requests: number;
  /** Replies by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The first faults, each with the request that repeats it. */
  readonly faults: readonly string[];
}

interface Crowd {
  readonly people: People;
  readonly tokens: Readonly<Record<TokenKind, string>>;
}
interface Reply {
  readonly status: number;
  readonly text: string;
  readonly contentType: string;
  readonly requestId: string;
}

const kinds: readonly TokenKind[] = ['user', 'bot', 'server', 'team'];
const connections = 32;
const crowdsAtOnce = 8;
/** How many requests share the same people: some requests delete their listings. */
const requestsPerCrowd = 400;
const faultsReportedMax = 10;

const gather = async (world: World): Promise<Crowd> => {
  const people = await addPeople(world.sql, newPeople());
  const pairs = await Promise.all(
    kinds.map(async (kind) => [kind, await world.token(kind, people[kind])] as const),
  );
  return { people, tokens: Object.fromEntries(pairs) as Record<TokenKind, string> };
};

const compose = (crowd: Crowd, random: Random): Sent => {
  const route = random.pick(routes);
  const taken = expected[route.name]?.kinds ?? [];
  const kind = taken.length === 0 || random.below(8) === 0 ? random.pick(kinds) : random.pick(taken);
  const { path, body } = sampleOf(route, crowd.people, kind);
  const address = `${1 + random.below(200)}.${random.below(256)}.${random.below(256)}.1`;
  const headers = { authorization: crowd.tokens[kind], 'x-forwarded-for': address };
  const sent: Sent = { method: route.method, path, headers };
  return mutate(body === undefined ? sent : { ...sent, body: JSON.stringify(body) }, random);
};

const ask = (world: World, agent: Agent, { method, path, headers, body }: Sent): Promise<Reply> =>
  new Promise((resolve, reject) => {
    // Always set: for a GET, Node would send the body without a Content-Length.
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const all = { ...headers, ...length };
    const target = { host: '127.0.0.1', port: world.port, agent, method, path, headers: all };
    const pending = send(target, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('error', reject);
      reply.on('end', () =>
        resolve({
          status: reply.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          contentType: reply.headers['content-type'] ?? '',
          requestId: String(reply.headers['x-request-id'] ?? ''),
        }),
      );
    });
    pending.setTimeout(20_000, () => pending.destroy(new Error('no answer in 20 s')));
    pending.on('error', reject);
    pending.end(body);
  });

/** Text that no reply may contain. */
const secrets = /node_modules|\bat .*\.ts:\d|select .* from |postgres|"stack"/i;
/** Pages of documentation, which are not operations. */
const documents = /^\/(docs(\/.*)?|openapi\.json)?(\?.*)?$/;

const faultOf = (sent: Sent, reply: Reply): string => {
  if (reply.status >= 500 && reply.status !== 503) return `a ${reply.status}`;
  if (reply.requestId === '') return 'no X-Request-Id';
  if (documents.test(sent.path)) return '';
  if (secrets.test(reply.text)) return 'reveals internals';
  const created = sent.method === 'POST' && reply.status === 201;
  if (!created && reply.text.includes('rc_') && !sent.path.includes('rc_')) return 'reveals a token';
  try {
    judgeReply({ method: sent.method, path: sent.path, ...reply });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

const askOne = async (
  world: World,
  { agent, crowd, random }: { agent: Agent; crowd: Crowd; random: Random },
): Promise<{ status: number; fault: string }> => {
  const sent = compose(crowd, random);
  try {
    const reply = await ask(world, agent, sent);
    const fault = faultOf(sent, reply);
    const details = fault === '' ? '' : `${fault}: ${JSON.stringify(sent).slice(0, 1_500)} → ${reply.status}`;
    return { status: reply.status, fault: details };
  } catch (error) {
    return { status: 0, fault: `${(error as Error).message}: ${JSON.stringify(sent).slice(0, 1_500)}` };
  }
};

/** Sends the requests, a few at a time. It does not reject because of a reply: faults are in the report. */
export const fuzz = async (
  world: World,
  options: { readonly requests: number; readonly seed: number },
): Promise<FuzzReport> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  const crowds = await Promise.all(Array.from({ length: crowdsAtOnce }, () => gather(world)));
  let left = options.requests;
  const worker = async (number: number): Promise<void> => {
    const random = createRandom(options.seed * 31 + number);
    const place = number % crowdsAtOnce;
    for (; left > 0; left -= 1) {
      if (random.below(requestsPerCrowd) === 0) crowds[place] = await gather(world);
      const { status, fault } = await askOne(world, { agent, crowd: crowds[place] as Crowd, random });
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (fault !== '' && faults.length < faultsReportedMax) faults.push(fault);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => worker(index)));
  agent.destroy();
  return { requests: options.requests, statuses, faults };
};
