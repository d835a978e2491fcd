/**
 * Who may mint a session with which limits.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  includesPermission,
  type Permission,
  permissionCatalogue,
} from '../../../engine/rules/permissions.ts';
import { decideMinting, parsePermissions } from '../../../engine/rules/sessions.ts';

const test = suite('minting');
const all = permissionCatalogue.map((row) => row.id);
const some = fc.subarray([...all]);

test('unlimited is for the owner with an unlimited session alone', () => {
  const requested: Permission[] = [];

  assert.is(decideMinting({ requested, granted: ['owner'], limits: [] }).kind, 'granted');
  assert.is(decideMinting({ requested, granted: ['owner'], limits: ['owner'] }).kind, 'unlimited_refused');
  assert.is(decideMinting({ requested, granted: ['manage_sessions'], limits: [] }).kind, 'unlimited_refused');
  assert.is(decideMinting({ requested, granted: [...all.slice(1)], limits: [] }).kind, 'unlimited_refused');
});

test('what is not held is refused by name', () => {
  const verdict = decideMinting({
    requested: ['edit_bots', 'delete_bots'],
    granted: ['edit_bots', 'manage_sessions'],
    limits: [],
  });

  assert.equal(verdict, { kind: 'not_held', permission: 'delete_bots' });
});

test('limits of the session at hand cut down what is held', () => {
  const minting = { requested: ['edit_bots'] as const, granted: ['owner'] };

  assert.is(decideMinting({ ...minting, limits: ['manage_sessions'] }).kind, 'not_held');
  assert.is(decideMinting({ ...minting, limits: ['edit_bots'] }).kind, 'granted');
});

test('nothing is ever granted that the caller could not do himself', () => {
  fc.assert(
    fc.property(some, some, some, (requested, granted, limits) => {
      if (decideMinting({ requested, granted, limits }).kind !== 'granted') return;
      const effective = (word: Permission): boolean =>
        includesPermission(granted, word) && (limits.length === 0 || includesPermission(limits, word));
      const wanted = requested.length === 0 ? all : requested;
      assert.ok(wanted.every(effective));
    }),
  );
});

test('an unknown word makes the whole list unknown, never shorter', () => {
  assert.is(parsePermissions(['edit_bots', 'fly']), null);
  assert.is(parsePermissions(['fly']), null);
  assert.equal(parsePermissions(['edit_bots', 'edit_bots']), ['edit_bots']);
  assert.equal(parsePermissions([]), []);
});

test.run();
