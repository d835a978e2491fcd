/**
 * Revokes against fills, step by step: each test pauses one at the worst point while the other runs.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { until } from '../../support/until.ts';
import { awaitTrust, createGate, type Minted, mintKnown, openPair, target } from './world.ts';

const test = suite('revokes and fills');
/** Pauses the other node after it read a session from SQL. */
const sqlRead = createGate();
/** Pauses the first node before SQL deletes a session. */
const sqlDelete = createGate();

const { directory, admin, one, other, close } = await openPair({
  one: { beforeDelete: sqlDelete.pass },
  other: { afterSql: sqlRead.pass },
});
test.after(() => close());

const mirrored = ({ hash }: Minted): Promise<string | null> => admin.get(`rollcall:session:${hash}`);
const trusted = () => awaitTrust({ one, other });
const known = () => mintKnown({ one, other });
const silence = () => other.proxies.forEach((proxy) => void proxy.silence());
const restore = () => other.proxies.forEach((proxy) => void proxy.restore());

test('a revoked token is refused before SQL deletes it', async () => {
  const minted = await known();
  const reached = sqlDelete.hold();
  const revoking = one.revoke(minted);
  await reached;

  await until('the other node refuses it', async () => (await other.find(minted)) === null, 1_000);

  sqlDelete.open();
  assert.ok(await revoking);
});

test('a look-up that read SQL before the revoke fills nothing afterwards', async () => {
  await trusted();
  const minted = await one.mint();
  await admin.del(`rollcall:session:${minted.hash}`);
  const reached = sqlRead.hold();
  const finding = other.find(minted);
  await reached;

  await one.revoke(minted);
  sqlRead.open();
  await finding;

  assert.is(await mirrored(minted), 'revoked');
  assert.is(await one.find(minted), null);
});

test('a fill whose claim was swept away with the tombstone fills nothing', async () => {
  await trusted();
  const minted = await one.mint();
  await admin.del(`rollcall:session:${minted.hash}`);
  const reached = sqlRead.hold();
  const finding = other.find(minted);
  await reached;
  assert.match((await mirrored(minted)) ?? '', /^claim:/);

  await one.revoke(minted);
  await admin.flushall();
  sqlRead.open();
  await finding;

  assert.is(await mirrored(minted), null);
  assert.is(await one.find(minted), null);
});

test('a copy filled between a lost tombstone and the delete gets a tombstone again', async () => {
  await trusted();
  const minted = await one.mint();
  const reached = sqlDelete.hold();
  const revoking = one.revoke(minted);
  await reached;
  await admin.flushall();
  assert.ok(await other.find(minted), 'not revoked yet: SQL has it still');
  assert.match((await mirrored(minted)) ?? '', /^\{/);

  sqlDelete.open();
  await revoking;

  assert.is(await mirrored(minted), 'revoked');
  await until('the other node refuses it', async () => (await other.find(minted)) === null, 1_000);
});

test('a token minted while its bot is deleted or its minter leaves ends with that', async () => {
  for (const concerned of [{ target }, { mintedBy: 'robin' }]) {
    await trusted();
    let minted: Minted | undefined;
    await one.sessions.changeSessions(concerned, async () => {
      minted = await other.mint();
      await directory.sql`delete from sessions where target_type = 'bot' and target_id = ${target.id}`;
    });

    assert.ok(minted);
    assert.not.match((await mirrored(minted)) ?? '', /^\{/, 'no copy stands');
    assert.is(await one.find(minted), null);
    assert.is(await other.find(minted), null);
    await until('later ones are not held', async () =>
      ((await mirrored(await other.mint())) ?? '').startsWith('{'),
    );
  }
});

test('an unannounced change invalidates the caches of nodes that read the key', async () => {
  const minted = await known();

  await admin.set(`rollcall:session:${minted.hash}`, 'revoked');

  await until('the other node refuses it', async () => (await other.find(minted)) === null, 1_000);
});

test('sessions cached before a connection loss are not trusted after it', async () => {
  const minted = await known();
  silence();
  await one.revoke(minted);
  await until('it noticed', () => !other.signals.isConnected());

  restore();
  await trusted();

  assert.is(await other.find(minted), null);
});

test('sessions cached during a connection loss are not trusted after it', async () => {
  const minted = await known();
  let losses = 0;
  const stop = other.signals.subscribe({ onDisconnect: () => losses++ });
  silence();
  await until('it noticed', () => losses > 0);
  stop();
  assert.ok(await other.find(minted));

  await one.revoke(minted);
  restore();
  await trusted();

  assert.is(await other.find(minted), null);
});

test.run();
