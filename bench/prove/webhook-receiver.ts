/**
 * A webhook of each driven bot that lets us make one, and its receiver on loopback: which votes its events
 * named.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { receive } from '../../http/client/receive.ts';
import { askPatiently } from './patient.ts';
import type { Listing, Subject } from './subject.ts';

const createState = () => ({
  secrets: new Map<string, string>(),
  votes: new Map<string, Set<string>>(),
  /** The first number of each event, by its id. */
  events: new Map<string, number>(),
  wrong: [] as string[],
});
type ReceiverState = ReturnType<typeof createState>;

const wrongMax = 50;

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
};

/** The path is the bot's id. */
const take = async (state: ReceiverState, request: IncomingMessage): Promise<void> => {
  const { secrets, votes, events, wrong } = state;
  const bot = (request.url ?? '').slice(1);
  const body = await readBody(request);
  const event = await receive({ headers: request.headers, body }, secrets.get(bot) ?? '').catch(
    (error: Error) => error,
  );
  if (event instanceof Error) {
    if (wrong.length < wrongMax) wrong.push(`webhook of bot ${bot}: ${event.message}`);
    return;
  }
  if (event.type !== 'vote.created') return;
  const { number, vote_ids: itags, target } = event.data;
  const before = events.get(event.id) ?? number;
  events.set(event.id, number);
  if ((before !== number || target.id !== bot) && wrong.length < wrongMax)
    wrong.push(`webhook of bot ${bot}: event ${event.id} is about vote ${number} of ${target.id}`);
  const seen = votes.get(bot) ?? new Set();
  for (const itag of itags) seen.add(itag);
  votes.set(bot, seen);
};

interface CreatedWebhook {
  readonly id: string;
  readonly secret: string;
}

const createWebhook = async (
  { client, urls }: Subject,
  { id, token }: Listing,
  url: string,
): Promise<CreatedWebhook | null> => {
  const headers = { 'Bot-Auth': token, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ name: 'prove', url });
  const request = { method: 'POST', headers, body } as const;
  const { status, text } = await askPatiently(client, `${urls[0]}/bots/${id}/webhooks`, request);
  return status === 201 ? (JSON.parse(text) as CreatedWebhook) : null;
};

const toPath = ({ urls }: Subject, { id }: Listing, webhook: string): string =>
  `${urls[0]}/bots/${id}/webhooks/${webhook}`;

const deleteWebhook = async (subject: Subject, listing: Listing, webhook: string): Promise<void> => {
  const request = { method: 'DELETE', headers: { 'Bot-Auth': listing.token } } as const;
  await subject.client.ask(toPath(subject, listing, webhook), request).catch(() => {});
};

/** Whether the server can reach this machine's loopback. */
const isReached = async (subject: Subject, listing: Listing, webhook: string): Promise<boolean> => {
  const request = { method: 'POST', headers: { 'Bot-Auth': listing.token } } as const;
  const { status, text } = await askPatiently(
    subject.client,
    `${toPath(subject, listing, webhook)}/test`,
    request,
  );
  return status === 200 && (JSON.parse(text) as { readonly delivered: boolean }).delivered;
};

/** Makes a webhook of each bot that may have one, if the first of them is reached. */
const createWebhooks = async (
  subject: Subject,
  state: ReceiverState,
  url: string,
): Promise<Map<Listing, string>> => {
  const created = new Map<Listing, string>();
  const { has, listings, webhooks = listings.length } = subject;
  for (const listing of has.has('log') ? listings.slice(0, webhooks) : []) {
    const webhook = await createWebhook(subject, listing, `${url}/${listing.id}`);
    if (webhook === null) continue;
    state.secrets.set(listing.id, webhook.secret);
    if (created.size > 0 || (await isReached(subject, listing, webhook.id))) {
      created.set(listing, webhook.id);
      continue;
    }
    await deleteWebhook(subject, listing, webhook.id);
    return created;
  }
  return created;
};

/** Listens, and makes the webhooks that the server allows and reaches; the set of bots may be empty. */
export const openReceiver = async (subject: Subject) => {
  const state = createState();
  const server = createServer((request, response) => {
    void take(state, request).finally(() => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const created = await createWebhooks(subject, state, `http://127.0.0.1:${port}`);
  return {
    /** Bots that have one. */
    bots: new Set<string>([...created.keys()].map(({ id }) => id)),
    /** By bot: the itags of votes whose event came. */
    votes: state.votes as ReadonlyMap<string, ReadonlySet<string>>,
    /** Events with a wrong signature, or one id for two events, in words. */
    wrong: state.wrong as readonly string[],
    /** Deletes the webhooks and ends. */
    close: async (): Promise<void> => {
      for (const [listing, webhook] of created) await deleteWebhook(subject, listing, webhook);
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
export type WebhookReceiver = Awaited<ReturnType<typeof openReceiver>>;
