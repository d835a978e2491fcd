/**
 * Posts to the receiver as fast as it can, `COUNT` requests over `LOOPS` loops, and ends.
 *
 * `MODE=agent` is the least that Node can do: one https.Agent with kept connections, the same headers and
 * body each time. `MODE=sender` is the client of the product: it signs each request and judges each address.
 * A program of its own, started by the webhooks command.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { createWebhookSecret, toWebhookHeaders } from '../../http/outbound/webhooks/formats.ts';
import { createWebhookSender } from '../../http/outbound/webhooks/send.ts';

const {
  MODE,
  CA_FILE = '',
  RECEIVER_PORT = '',
  COUNT = '1',
  LOOPS = '1',
  ENDPOINTS = '1',
  BODY = '',
} = process.env;
const ca = readFileSync(CA_FILE, 'utf8');
const [count, loops, endpoints] = [Number(COUNT), Number(LOOPS), Number(ENDPOINTS)];
const secret = createWebhookSecret();
const sign = (id: string): Record<string, string> =>
  toWebhookHeaders({
    format: 'standard',
    id,
    sentAtSeconds: Math.floor(Date.now() / 1_000),
    body: BODY,
    secrets: [secret],
  });
const toUrl = (index: number): string => `https://localhost:${RECEIVER_PORT}/hook/${index % endpoints}`;

const createPlainPost = () => {
  const agent = new Agent({ keepAlive: true, maxSockets: loops, ca });
  const headers = sign('the-same');
  return (index: number) =>
    new Promise<void>((resolve, reject) => {
      const outgoing = request(toUrl(index), { agent, method: 'POST', headers }, (answer) => {
        answer.resume().on('end', resolve);
      });
      outgoing.on('error', reject);
      outgoing.end(BODY);
    });
};

const createSenderPost = () => {
  const sender = createWebhookSender({ addresses: 'any', timeoutMs: 10_000, ca });
  const connections = Array.from({ length: endpoints }, (_, index) => sender.open(toUrl(index)));
  return async (index: number) => {
    const outcome = await connections[index % endpoints]?.post(sign(`event-${index}`), BODY);
    if (outcome?.error !== '') throw new Error(outcome?.detail);
  };
};

let next = 0;
const post = MODE === 'agent' ? createPlainPost() : createSenderPost();
const run = async (): Promise<void> => {
  while (next < count) await post(next++);
};
await Promise.all(Array.from({ length: loops }, run));
process.exit(0);
