/**
 * Runs every example of docs/client-guide.md, in order and unchanged, on a new server with the demo
 * directory. The output must equal the text below the example, where `…` matches anything.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../support/folder.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';

interface Example {
  readonly line: number;
  readonly language: 'sh' | 'js';
  readonly code: string;
  readonly printed: string;
}

const guide = readFileSync(new URL('../../docs/client-guide.md', import.meta.url), 'utf8');
const pattern = /^```(sh|js)\n([\s\S]*?)^```\n(?:^```\n([\s\S]*?)^```\n)?/gm;
const examples: Example[] = [...guide.matchAll(pattern)].map((match) => ({
  line: guide.slice(0, match.index).split('\n').length,
  language: match[1] as Example['language'],
  code: match[2] as string,
  printed: match[3] ?? '',
}));

const test = suite('client guide');
const folder = makeFolder('rollcall-guide-');
let node: StartedNode;
let variables: Record<string, string>;

test.before(async () => {
  node = await startNode({ dataDir: folder, settings: { DEMO: 'on' } });
  const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'));
  variables = {
    URL: demo.url,
    BOT_ID: demo.bot.id,
    BOT_TOKEN: demo.bot.token,
    USER_ID: demo.user.id,
    USER_TOKEN: demo.user.token,
  };
});
test.after(async () => {
  await node.stop();
});

const run = async ({ language, code }: Example): Promise<string> => {
  const [program, args] =
    language === 'sh'
      ? (['bash', ['-c', code]] as const)
      : ([process.execPath, ['--input-type=module', '-e', code]] as const);
  const env = { PATH: process.env.PATH ?? '', ...variables };
  const { stdout } = await promisify(execFile)(program, [...args], { env, timeout: 30_000 });
  return stdout.trimEnd();
};

/** Whether the text matches the guide; `…` matches anything. */
const matches = (expected: string, text: string): boolean => {
  const parts = expected.trimEnd().split('…');
  const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('[^]*?')}$`).test(text);
};

test('there are examples in both languages, each with its output', () => {
  assert.ok(examples.filter(({ language }) => language === 'sh').length >= 5);
  assert.ok(examples.filter(({ language }) => language === 'js').length >= 4);
  assert.equal(
    examples.filter(({ printed }) => printed === '').map(({ line }) => line),
    [],
  );
});

for (const example of examples) {
  test(`docs/client-guide.md:${example.line} prints the documented output`, async () => {
    const text = await run(example);

    assert.ok(matches(example.printed, text), `printed:\n${text}\nexpected:\n${example.printed}`);
  });
}

test.run();
