/**
 * A node is killed amid creations with idempotency keys: after the next start their repeats create what is
 * missing and nothing twice, and what was answered is answered again in the same words.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../../support/folder.ts';
import { readDemo, startNode } from '../../support/node-process.ts';

const test = suite('creations whose node is killed');
const dataDir = makeFolder('rollcall-keys-');
const settings = { DEMO: 'on' };
const lives = 3;
const teamsPerLife = 12;

const createTeam = async (url: string, name: string): Promise<string> => {
  const { token } = readDemo(dataDir).user;
  const headers = { 'User-Auth': token, 'Idempotency-Key': name };
  const answer = await fetch(`${url}/teams`, { method: 'POST', headers, body: JSON.stringify({ name }) });
  return `${answer.status} ${await answer.text()}`;
};

test('each team exists once, whenever the node ended', async () => {
  const answered = new Map<string, string>();
  const names: string[] = [];
  for (let life = 0; life < lives; life++) {
    const node = await startNode({ dataDir, settings });
    const mine = Array.from({ length: teamsPerLife }, (_, index) => `Life ${life} team ${index}`);
    names.push(...mine);
    const sent = mine.map((name) =>
      createTeam(node.url, name).then(
        (answer) => void answered.set(name, answer),
        () => undefined,
      ),
    );
    // Some are answered, some are in SQL only, some are nowhere.
    await Promise.any(sent.slice(life));
    await node.kill();
    await Promise.all(sent);
  }
  const node = await startNode({ dataDir, settings });
  const repeats = new Map<string, string>();
  for (const name of names) repeats.set(name, await createTeam(node.url, name));
  const again = await createTeam(node.url, names[0] ?? '');
  const ids = new Set([...repeats.values()]);
  await node.stop();

  assert.ok(answered.size > 0);
  assert.ok([...repeats.values()].every((answer) => answer.startsWith('201 ')));
  assert.is(ids.size, names.length);
  for (const [name, answer] of answered) assert.is(repeats.get(name), answer, name);
  assert.is(again, repeats.get(names[0] ?? ''));
});

test.run();
