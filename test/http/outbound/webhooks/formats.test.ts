/**
 * The three formats of a webhook's body, and the addresses they may be sent to.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findFormatFault } from '../../../../http/outbound/webhooks/formats.ts';

const test = suite('webhook formats');

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
