/**
 * The body of a webhook request in each format, and which addresses a format may be sent to.
 *
 * Pure, and deterministic: the same event gives the same bytes, because every attempt must send the same
 * body. Texts that users choose are escaped for the format that interprets them. Called by the sender of
 * webhooks and by the handlers that store endpoints.
 */
import type { EventTarget, EventUser, VoteEvent, WebhookEvent, WebhookFormat } from './event.ts';

/**
 * The request's body, `undefined` when this format does not send this event. `topgg` has no downvotes, no
 * teams and no packs.
 */
export const toWebhookBody = (format: WebhookFormat, event: WebhookEvent): string | undefined => {
  const body = buildBody[format](event);
  return body === undefined ? undefined : JSON.stringify(body);
};

/** Returns why this format cannot be sent to this https URL, `null` when it can. */
export const findFormatFault = (format: WebhookFormat, url: string): string | null => {
  if (format !== 'discord') return null;
  const { hostname, port, pathname } = new URL(url);
  const isWebhook = discordHosts.has(hostname) && port === '' && discordPath.test(pathname);
  return isWebhook ? null : 'must be the address of a Discord webhook for the format discord';
};

const discordHosts = new Set([
  'discord.com',
  'canary.discord.com',
  'ptb.discord.com',
  'discordapp.com',
  'canary.discordapp.com',
  'ptb.discordapp.com',
]);
const discordPath = /^\/api(\/v\d{1,2})?\/webhooks\/\d{15,20}\/[\w-]{1,128}$/;

/** Every object is built key by key, so that the order of the keys never depends on the caller. */
const toStandardBody = (event: WebhookEvent): object => {
  const { type, timestamp } = event;
  if (event.type === 'webhook.test') {
    const { webhook_id, user, target, test } = event.data;
    return { type, timestamp, data: { webhook_id, user: toUser(user), target: toTarget(target), test } };
  }
  const { epoch, number, itag, vote_ids, weight, upvote, user, target } = event.data;
  const { votes, created_at, next_vote_at, test } = event.data;
  const vote = { epoch, number, itag, vote_ids, weight, upvote };
  const people = { user: toUser(user), target: toTarget(target) };
  return { type, timestamp, data: { ...vote, ...people, votes, created_at, next_vote_at, test } };
};

const toUser = ({ id, username, display_name, avatar }: EventUser): EventUser => ({
  id,
  username,
  display_name,
  avatar,
});
const toTarget = ({ type, id, name }: EventTarget): EventTarget => ({ type, id, name });

const topggTargets: Readonly<Partial<Record<EventTarget['type'], string>>> = { bot: 'bot', server: 'guild' };

const toTopggBody = ({ type, data }: WebhookEvent): object | undefined => {
  const targetKey = topggTargets[data.target.type];
  if (targetKey === undefined || (!data.test && !data.upvote)) return undefined;
  return {
    [targetKey]: data.target.id,
    user: data.user.id,
    type: type === 'webhook.test' ? 'test' : 'upvote',
    // There it means that the vote counts double.
    isWeekend: !data.test && data.weight > 1,
    query: '',
  };
};

const green = 0x57_f2_87;
const red = 0xed_42_45;
const grey = 0x99_aa_b5;

const toDiscordBody = (event: WebhookEvent): object => {
  const { user, target } = event.data;
  const text = event.type === 'webhook.test' ? describeTest : describeVote(event);
  const author = `**${escapeMarkdown(user.display_name || user.username || user.id)}**`;
  return {
    content: '',
    embeds: [
      {
        title: escapeMarkdown(target.name || target.id),
        description: `${author} ${text.action}`,
        color: text.color,
        fields: text.fields.map(([name, value]) => ({ name, value, inline: true })),
        timestamp: event.timestamp,
      },
    ],
    allowed_mentions: { parse: [] },
  };
};

interface DiscordText {
  readonly action: string;
  readonly color: number;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

const describeTest: DiscordText = {
  action: 'tested this webhook. It works: votes will appear here.',
  color: grey,
  fields: [],
};

const describeVote = ({ data: { upvote, weight, votes, next_vote_at } }: VoteEvent): DiscordText => {
  const nextSeconds = Math.ceil(Date.parse(next_vote_at) / 1_000);
  const times = weight > 1 ? ` (counts ${weight} times)` : '';
  return {
    action: `voted ${upvote ? 'up' : 'down'}${times}.`,
    color: upvote ? green : red,
    fields: [
      ['Votes', String(votes)],
      ['Next vote', `<t:${nextSeconds}:R>`],
    ],
  };
};

/** Escaped, it fits into the 256 characters of a title. */
const nameCharactersMax = 100;

/** Makes a user's text plain: no formatting, link, mention, line break or other writing direction. */
const escapeMarkdown = (text: string): string =>
  [...text.replace(/[\u202A-\u202E\u2066-\u2069]/g, '').replace(/\s+/g, ' ')]
    .slice(0, nameCharactersMax)
    .join('')
    .replace(/[\\*_~`|>#@<:[\]()-]/g, '\\$&');

const buildBody: Readonly<Record<WebhookFormat, (event: WebhookEvent) => object | undefined>> = {
  standard: toStandardBody,
  topgg: toTopggBody,
  discord: toDiscordBody,
};
