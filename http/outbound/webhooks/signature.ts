/**
 * Secrets and headers of webhook requests, by Standard Webhooks 1.0.0.
 *
 * A receiver knows by the signature that the request comes from here, is recent, and is unchanged. While a
 * secret is being replaced, both secrets sign, so a receiver may switch at any time in between. A request of
 * the format `topgg` also carries the secret itself, or a text of the owner's choice, because its receivers
 * compare that; one of `topgg_v1` has the signature of top.gg, by the newest secret.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { WebhookFormat } from './stored-event.ts';

const prefix = 'whsec_';
/** Bounds of Standard Webhooks. */
const secretBytes = { min: 24, created: 32, max: 64 };

/** Creates a secret of 32 random bytes: `whsec_` and base64. */
export const createWebhookSecret = (): string => prefix + randomBytes(secretBytes.created).toString('base64');

/** Whether the text is `whsec_` and the canonical base64 of 24 to 64 bytes. */
export const isWebhookSecret = (text: string): boolean => {
  const key = toKey(text);
  const isWhole = text === prefix + key.toString('base64');
  return isWhole && key.length >= secretBytes.min && key.length <= secretBytes.max;
};

const toKey = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64');

export interface SignedRequest {
  readonly format: WebhookFormat;
  /** The id of the event: the same in every attempt. */
  readonly id: string;
  /** Unix time of this attempt, in whole seconds. */
  readonly sentAtSeconds: number;
  readonly body: string;
  /** The newest first, then the former one while it is still valid. */
  readonly secrets: readonly [string, ...string[]];
  /** For `topgg`: what its receiver compares; `null` for the newest secret. */
  readonly authorization?: string | null;
  /** The trace of the request that caused the event, `''` for none. */
  readonly traceparent?: string;
}

/** Builds all headers of a request, in lower case. */
export const toWebhookHeaders = ({
  format,
  id,
  sentAtSeconds,
  body,
  secrets,
  authorization = null,
  traceparent = '',
}: SignedRequest): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'Rollcall-Webhooks/1',
  'webhook-id': id,
  'webhook-timestamp': String(sentAtSeconds),
  'webhook-signature': secrets.map((secret) => sign(secret, `${id}.${sentAtSeconds}.${body}`)).join(' '),
  ...(traceparent !== '' && { traceparent }),
  ...(format === 'topgg' ? { authorization: authorization ?? secrets[0] } : {}),
  ...(format === 'topgg_v1'
    ? {
        'x-topgg-signature': `t=${sentAtSeconds},v1=${signForTopgg(secrets[0], `${sentAtSeconds}.${body}`)}`,
        'x-topgg-trace': id,
      }
    : {}),
});

/** There the whole text of the secret is the key. */
const signForTopgg = (secret: string, content: string): string =>
  createHmac('sha256', secret).update(content).digest('hex');

const sign = (secret: string, content: string): string =>
  `v1,${createHmac('sha256', toKey(secret)).update(content).digest('base64')}`;
