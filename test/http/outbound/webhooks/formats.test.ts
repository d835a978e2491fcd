/**
 * The formats of a webhook's body: their exact bytes are in `bodies-<format>.txt`, one line for each
 * event, `undefined` for an event that the format does not send. Receivers parse these bytes, and a delivery
 * sends them again with each attempt, so a difference here is a change for clients.
 */
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findFormatFault, toWebhookBody } from '../../../../http/outbound/webhooks/formats.ts';
import { type WebhookEvent, webhookFormats } from '../../../../http/outbound/webhooks/stored-event.ts';
import {
  doubleDownvote,
  listingEvents,
  pressedTest,
  reset,
  serverVote,
  teamVote,
  upvote,
  voided,
} from './sample-events.ts';

const test = suite('webhook formats');
const events: readonly WebhookEvent[] = [
  ...[upvote, doubleDownvote, serverVote, teamVote, pressedTest, voided, reset],
  ...listingEvents,
];

/** The same event with its keys in reverse order, at every depth. */
const reverseKeys = <Value>(value: Value): Value => {
  if (Array.isArray(value)) return value.map(reverseKeys) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const reversed = Object.entries(value).reverse();
  return Object.fromEntries(reversed.map(([key, inner]) => [key, reverseKeys(inner)])) as Value;
};

for (const format of webhookFormats) {
  test(`the bodies of the format ${format} are the documented bytes`, () => {
    const documented = readFileSync(new URL(`bodies-${format}.txt`, import.meta.url), 'utf8');

    const bodies = events.map((event) => `${toWebhookBody(format, event)}\n`);

    assert.is(bodies.join(''), documented);
  });

  test(`the bytes of the format ${format} depend on the event alone, not on the order of its keys`, () => {
    for (const event of events) {
      assert.is(toWebhookBody(format, reverseKeys<WebhookEvent>(event)), toWebhookBody(format, event));
    }
  });
}

test('the formats of top.gg send upvotes and tests of bots and servers, nothing else', () => {
  for (const format of ['topgg', 'topgg_v1'] as const) {
    const sent = events.filter((event) => toWebhookBody(format, event) !== undefined);

    assert.equal(sent, [upvote, serverVote, pressedTest]);
  }
});

interface DiscordMessage {
  readonly content: string;
  readonly embeds: readonly { readonly title: string; readonly description: string }[];
  readonly allowed_mentions: unknown;
}

test('a discord message mentions no user and shows names as plain text of bounded length', () => {
  const hostile = { ...doubleDownvote.data.user, display_name: '*'.repeat(5_000) };
  const long = { ...doubleDownvote, data: { ...doubleDownvote.data, user: hostile } };
  for (const event of [...events, long]) {
    const message: DiscordMessage = JSON.parse(toWebhookBody('discord', event) ?? '');

    assert.equal(message.allowed_mentions, { parse: [] });
    assert.is(message.content, '');
    const [embed] = message.embeds;
    assert.ok(embed && embed.title.length <= 256 && embed.description.length <= 4_096);
    // Outside our own ** around the name, every character with a meaning is escaped.
    const name = /\*\*(.*)\*\*/su.exec(embed.description)?.[1] ?? '';
    assert.not.match(name.replace(/\\./gu, ''), /[\\*_~`|>#@<:[\]()\n\u202E-]/);
  }
});

test('the discord format goes only to webhooks of Discord', () => {
  const path = '/api/webhooks/758641373074423808/a-token_1';
  for (const url of [
    `https://discord.com${path}`,
    `https://ptb.discord.com/api/v10/webhooks/758641373074423808/a-token_1?wait=true`,
  ]) {
    assert.is(findFormatFault('discord', url), null, url);
  }
  for (const url of [
    `https://discord.com.example.org${path}`,
    `https://example.org${path}`,
    `https://discord.com:8443${path}`,
    `https://discord.com/api/users/@me`,
    `https://discord.com${path}/slack`,
    `https://discord.com${path}/../../../users/@me`,
    'https://discord.com/',
  ]) {
    assert.match(findFormatFault('discord', url) ?? '', /Discord webhook/, url);
    assert.is(findFormatFault('standard', url), null, url);
  }
});

test.run();
