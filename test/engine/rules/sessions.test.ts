/**
 * Which sessions a caller may mint, and with which limits.
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

test('only an owner with an unlimited session can mint an unlimited one', () => {
  const requested: Permission[] = [];

  assert.is(decideMinting({ requested, granted: ['owner'], limits: [] }).kind, 'granted');
  assert.is(decideMinting({ requested, granted: ['owner'], limits: ['owner'] }).kind, 'unlimited_refused');
  assert.is(decideMinting({ requested, granted: ['manage_sessions'], limits: [] }).kind, 'unlimited_refused');
  assert.is(decideMinting({ requested, granted: [...all.slice(1)], limits: [] }).kind, 'unlimited_refused');
});

test('a permission that the caller does not have is refused by name', () => {
  const verdict = decideMinting({
    requested: ['edit_bots', 'delete_bots'],
    granted: ['edit_bots', 'manage_sessions'],
    limits: [],
  });

  assert.equal(verdict, { kind: 'not_granted', permission: 'delete_bots' });
});

test('the limits of the current session restrict the permissions of its user', () => {
  const minting = { requested: ['edit_bots'] as const, granted: ['owner'] };

  assert.is(decideMinting({ ...minting, limits: ['manage_sessions'] }).kind, 'not_granted');
  assert.is(decideMinting({ ...minting, limits: ['edit_bots'] }).kind, 'granted');
});

test('no session grants more than its minter may do', () => {
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

test('an unknown permission makes the whole list invalid; it is not just dropped', () => {
  assert.is(parsePermissions(['edit_bots', 'fly']), null);
  assert.is(parsePermissions(['fly']), null);
  assert.equal(parsePermissions(['edit_bots', 'edit_bots']), ['edit_bots']);
  assert.equal(parsePermissions([]), []);
});

test.run();
