/**
 * Vanity codes: which are allowed, and which are proposed for a new listing.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findVanityCodeFault, listVanityCandidates, toSlug } from '../../../engine/rules/vanity.ts';

const test = suite('rules of vanity codes');

test('codes have 2 to 32 characters of a small alphabet, and are neither reserved nor like ids', () => {
  for (const code of ['ab', 'z'.repeat(32), 'night-owls_2', '12345678901234'])
    assert.is(findVanityCodeFault(code), null, code);
  for (const code of [
    'a',
    'a'.repeat(33),
    'Ab',
    'a b',
    'é1',
    'bots',
    'support',
    ...['badges', 'feed', 'leaderboards', 'webhooks', 'history', 'shards', 'rank'],
    '123456789012345',
    '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a14',
    '018f3b7e7c1a7d529d1e2f6b1f6f7a14',
  ])
    assert.type(findVanityCodeFault(code), 'string', code);
});

test('a slug has no accents, no double hyphens, none at its ends', () => {
  assert.is(toSlug('  Café — Zürich!! '), 'cafe-zurich');
  assert.is(toSlug('日本'), '');
});

test('a slug keeps a single underscore between letters and digits, as codes may have it', () => {
  assert.is(toSlug('Dice_Roller'), 'dice_roller');
  assert.is(toSlug('__dice__roller_ 2_'), 'dice-roller-2');
  assert.is(toSlug(`${'x'.repeat(31)}_y`), 'x'.repeat(31));
  for (const code of listVanityCandidates('bot', '815553000470478850', `${'x'.repeat(26)}_yyyyyyyy`)) {
    assert.is(findVanityCodeFault(code), null, code);
    assert.not.match(code, /[-_]{2}/);
  }
});

test('a new team gets its slug, else a longer one, else team- and six random characters', () => {
  const id = '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a14';
  assert.equal(listVanityCandidates('team', id, 'Night Owls').slice(0, 2), ['night-owls', 'night-owls-7a14']);
  assert.equal(listVanityCandidates('team', id, '日本')[0], 'team-6f7a14');
  assert.equal(listVanityCandidates('team', id, 'Teams')[0], 'teams-7a14');
  assert.equal(
    listVanityCandidates('team', id, 'x').filter((code) => findVanityCodeFault(code) !== null),
    [],
  );
});

test.run();
