/**
 * The body and the headers of a webhook request in each format, and which addresses a format may be sent to.
 *
 * Pure, and deterministic: the same event gives the same bytes, because every attempt must send the same
 * body. Texts that users choose are escaped for the format that interprets them.
 *
 * Secrets and headers follow Standard Webhooks 1.0.0. A receiver knows by the signature that the request
 * comes from here, is recent, and is unchanged. While a secret is being replaced, both secrets sign, so a
 * receiver may switch at any time in between. A request of the format `topgg` also carries the secret itself,
 * or a text of the owner's choice, because its receivers compare that; one of `topgg_v1` has the signature of
 * top.gg, by the newest secret.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { LeasedEndpoint } from '../../../storage/catalogue/webhooks/queue.ts';
import type { SecretBox } from '../../../storage/catalogue/webhooks/secrets.ts';
import type { WebhookTarget, WebhookUser } from '../../client/receive.ts';
import type {
  ListingEvent,
  TestEvent,
  VoidedEvent,
  VoteEvent,
  WebhookEvent,
  WebhookEventType,
  WebhookFormat,
} from './stored-event.ts';

/**
 * The request's body, `undefined` when this format does not send this event. `topgg` and `topgg_v1` have only
 * upvotes of bots and servers.
 */
export const toWebhookBody = (format: WebhookFormat, event: WebhookEvent): string | undefined =>
  format === 'standard' ? renderStandardBody(event) : JSON.stringify(buildBody[format](event));

/** Whether the format is one of top.gg, which knows only upvotes of bots and servers. */
export const isTopgg = (format: WebhookFormat): boolean => format === 'topgg' || format === 'topgg_v1';

/** Returns why this format cannot be sent to this URL, `null` when it can. */
export const findFormatFault = (format: WebhookFormat, url: string): string | null => {
  if (format !== 'discord') return null;
  const { protocol, hostname, port, pathname } = new URL(url);
  const isWebhook =
    protocol === 'https:' && discordHosts.has(hostname) && port === '' && discordPath.test(pathname);
  return isWebhook ? null : 'must be the address of a Discord webhook for the format discord';
};

/** Returns why this format cannot send these events, `null` when it can. */
export const findEventsFault = (format: WebhookFormat, events: readonly WebhookEventType[]): string | null =>
  isTopgg(format) && events.some((type) => type !== 'vote.created')
    ? `must be vote.created alone for the format ${format}`
    : null;

const discordHosts = new Set([
  'discord.com',
  'canary.discord.com',
  'ptb.discord.com',
  'discordapp.com',
  'canary.discordapp.com',
  'ptb.discordapp.com',
]);
const discordPath = /^\/api(\/v\d{1,2})?\/webhooks\/\d{15,20}\/[\w-]{1,128}$/;

/** The keys of standard bodies, at every depth in this order, whatever order an event has. */
const standardKeys = (
  'type timestamp data epoch number itag vote_ids weight upvote ref webhook_id fields user id username ' +
  'display_name avatar voter times streak longest name reason target votes created_at next_vote_at test'
).split(' ');
/** The keys of `vote.voided` and `vote.restored`, where those of a vote come before its user. */
const voidedKeys = (
  'type timestamp data epoch number reason upvotes downvotes vote itag upvote created_at user id username ' +
  'display_name avatar before target name votes test'
).split(' ');

const renderStandardBody = ({ id: _, ...body }: WebhookEvent): string => {
  const isVoided = body.type === 'vote.voided' || body.type === 'vote.restored';
  return JSON.stringify(body, isVoided ? voidedKeys : standardKeys);
};

const topggTargets: Readonly<Partial<Record<WebhookTarget['type'], string>>> = {
  bot: 'bot',
  server: 'guild',
};

const toTopggBody = (event: WebhookEvent): object | undefined => {
  if (event.type !== 'vote.created' && event.type !== 'webhook.test') return undefined;
  const { type, data } = event;
  const targetKey = topggTargets[data.target.type];
  if (targetKey === undefined || (!data.test && !data.upvote)) return undefined;
  return {
    [targetKey]: data.target.id,
    user: data.user.id,
    type: type === 'webhook.test' ? 'test' : 'upvote',
    // At top.gg `isWeekend` means that the vote counts double.
    isWeekend: !data.test && data.weight > 1,
    query: type === 'vote.created' && data.ref !== '' ? `?ref=${data.ref}` : '',
  };
};

const topggV1Targets: typeof topggTargets = { bot: 'bot', server: 'server' };

const toTopggV1Body = ({ type, data }: WebhookEvent): object | undefined => {
  if (type !== 'vote.created' && type !== 'webhook.test') return undefined;
  const { id: targetId, type: targetType } = data.target;
  const projectType = topggV1Targets[targetType];
  if (projectType === undefined || (!data.test && !data.upvote)) return undefined;
  const project = { id: targetId, type: projectType, platform: 'discord', platform_id: targetId };
  const { id, username, avatar } = data.user;
  const user = { id, platform_id: id, name: username, avatar_url: avatar };
  if (type === 'webhook.test') return { type, data: { user, project } };
  const { itag, weight, created_at, next_vote_at } = data;
  const vote = { id: itag, weight, created_at, expires_at: next_vote_at };
  return { type: 'vote.create', data: { ...vote, project, user } };
};

const green = 0x57_f2_87;
const red = 0xed_42_45;
const grey = 0x99_aa_b5;

const toDiscordBody = (event: WebhookEvent): object => {
  const { target } = event.data;
  const text = describe(event);
  return {
    content: '',
    embeds: [
      {
        title: escapeMarkdown(target.name || target.id),
        description: text.description,
        color: text.color,
        fields: text.fields.map(([name, value]) => ({ name, value, inline: true })),
        timestamp: event.timestamp,
      },
    ],
    allowed_mentions: { parse: [] },
  };
};

interface DiscordText {
  readonly description: string;
  readonly color: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

const describe = (event: WebhookEvent): DiscordText => {
  switch (event.type) {
    case 'webhook.test':
      return describeTest(event);
    case 'vote.created':
      return describeVote(event);
    case 'vote.voided':
    case 'vote.restored':
      return describeVoided(event);
    default:
      return { description: describeOther(event), color: grey, fields: [] };
  }
};

const describeOther = ({ type, data }: ListingEvent): string => {
  switch (type) {
    case 'vote.ready':
      return `${nameUser(data.user)} may vote again.`;
    case 'listing.updated':
      return `The listing was edited: ${data.fields.map(escapeMarkdown).join(', ')}.`;
    case 'webhook.disabled':
      return `The webhook **${escapeMarkdown(data.name)}** was disabled: ${escapeMarkdown(data.reason)}.`;
  }
};

const describeTest = ({ data: { user } }: TestEvent): DiscordText => ({
  description: `${nameUser(user)} tested this webhook. It works: votes will appear here.`,
  color: grey,
  fields: [],
});

const describeVote = ({ data }: VoteEvent): DiscordText => {
  const { user, upvote, weight, votes, next_vote_at } = data;
  const nextSeconds = Math.ceil(Date.parse(next_vote_at) / 1_000);
  const times = weight > 1 ? ` (counts ${weight} times)` : '';
  return {
    description: `${nameUser(user)} voted ${upvote ? 'up' : 'down'}${times}.`,
    color: upvote ? green : red,
    fields: [
      ['Votes', String(votes)],
      ['Next vote', `<t:${nextSeconds}:R>`],
    ],
  };
};

const voidReasons: Readonly<Record<string, string>> = {
  operator: 'by the operator',
  redeemed: 'redeemed as credits',
  monthly_reset: 'a new month began',
};

const describeVoided = ({ type, data }: VoidedEvent): DiscordText => {
  const { vote, upvotes, downvotes, reason, votes } = data;
  const count = upvotes + downvotes;
  const verb = count === 1 ? 'counts' : 'count';
  const change = type === 'vote.restored' ? `${verb} again` : `no longer ${verb}`;
  const many = `${count} vote${count === 1 ? '' : 's'} ${change}`;
  const what = vote === null ? many : `The vote of ${nameUser(vote.user)} no longer counts`;
  const why = voidReasons[reason] ?? reason;
  return { description: `${what}: ${why}.`, color: grey, fields: [['Votes', String(votes)]] };
};

const nameUser = ({ id, username, display_name }: WebhookUser): string =>
  `**${escapeMarkdown(display_name || username || id)}**`;

/** Escaped, it fits into the 256 characters of a title. */
const nameCharactersMax = 100;

/** Makes a user's text plain: no formatting, link, mention, line break or other writing direction. */
const escapeMarkdown = (text: string): string =>
  [...text.replace(/[\u202A-\u202E\u2066-\u2069]/g, '').replace(/\s+/g, ' ')]
    .slice(0, nameCharactersMax)
    .join('')
    .replace(/[\\*_~`|>#@<:[\]()-]/g, '\\$&');

const buildBody = {
  topgg: toTopggBody,
  topgg_v1: toTopggV1Body,
  discord: toDiscordBody,
};

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

/** The newest first, then the former one while it is still valid. */
export type SigningSecrets = readonly [string, ...string[]];

/** What the requests to an endpoint are signed with, and what `topgg` sends instead of the newest secret. */
export interface OpenedSecrets {
  readonly secrets: SigningSecrets;
  readonly authorization: string | null;
}

/** Unseals what requests carry now; `null` if the newest secret or the authorization cannot be read. */
export const openSecrets = (
  { unseal }: Pick<SecretBox, 'unseal'>,
  endpoint: Pick<LeasedEndpoint, 'id' | 'secret' | 'formerSecret' | 'formerUntilMs' | 'authorization'>,
  nowMs: number,
): OpenedSecrets | null => {
  const { id, secret, formerSecret, formerUntilMs, authorization: sealed } = endpoint;
  const newest = unseal(secret, id);
  const authorization = sealed === null ? null : unseal(sealed, id);
  if (newest === null || (sealed !== null && authorization === null)) return null;
  const former = formerSecret === null || formerUntilMs <= nowMs ? null : unseal(formerSecret, id);
  return { secrets: former === null ? [newest] : [newest, former], authorization };
};

export interface SignedRequest {
  readonly format: WebhookFormat;
  /** The id of the event: the same in every attempt. */
  readonly id: string;
  /** Unix time of this attempt, in whole seconds. */
  readonly sentAtSeconds: number;
  readonly body: string;
  readonly secrets: SigningSecrets;
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

/** Signs as top.gg does, where the whole text of the secret is the key. */
const signForTopgg = (secret: string, content: string): string =>
  createHmac('sha256', secret).update(content).digest('hex');

const sign = (secret: string, content: string): string =>
  `v1,${createHmac('sha256', toKey(secret)).update(content).digest('base64')}`;
