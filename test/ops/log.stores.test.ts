/**
 * The log of a whole process in both forms, from its start to its end: with JSON every line can be parsed and
 * none has a token; with text no value forges a line.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger } from '../../ops/log/log.ts';
import { makeFolder } from '../support/folder.ts';
import { mainProgram, spawnNode } from '../support/node-process.ts';
import { makeBareFolder } from '../support/sql-template.ts';

const test = suite('log');
const dataDir = makeFolder('rollcall-log-');
test.before(() => makeBareFolder(dataDir));

interface Line {
  readonly level: string;
  readonly time: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Fails on a line that is not JSON. */
const parseLines = (output: string): Line[] =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

test('LOG_FORMAT=json: every line is JSON, and the start names its addresses', async () => {
  const node = spawnNode({
    dataDir,
    settings: { LOG_FORMAT: 'json', LOG_LEVEL: 'debug', DEMO: 'on', REDIS_ULR: 'mistyped' },
  });
  const { url } = await node.ready;
  const { bot } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));
  await fetch(`${url}/bots/stats`, {
    method: 'POST',
    headers: { 'Bot-Auth': bot.token, 'X-Request-Id': 'forged' },
    body: '{"servers":1}',
  });
  await fetch(`${url}/nothing/here`);
  assert.is((await node.stop()).code, 0);

  const lines = parseLines(node.output());
  const find = (msg: string) => lines.filter((line) => line.msg === msg);
  const [ready] = find('ready');
  assert.is(ready?.url, url);
  assert.match(String(ready?.adminUrl), /^http:/);
  assert.is(ready?.demo, join(dataDir, 'demo.json'));
  assert.match(String(ready?.version), /^\d+\.\d+\.\d+/);
  assert.equal(ready?.stores, { Data: dataDir });
  assert.ok(lines.some(({ level, msg }) => level === 'warn' && msg.includes('REDIS_ULR')));
  const requests = find('request').map(({ level, route, status }) => [level, route, status]);
  assert.ok(requests.some((request) => String(request) === 'debug,postStats,200'));
  assert.ok(requests.some((request) => String(request) === 'debug,none,404'));
  for (const { request_id: id, ms } of find('request')) assert.ok(id !== '' && typeof ms === 'number');
  assert.is(lines.at(-1)?.msg, 'stopped');
  for (const { time } of lines) assert.is(new Date(time).toISOString(), time);
  assert.not.match(node.output(), /rc_(bot|user|operator)_/);
});

test('LOG_FORMAT=json: a refused start is one line of JSON, too', () => {
  const env = { ...process.env, LOG_FORMAT: 'json', PORT: 'eighty', DATA_DIR: dataDir };
  const { status, stdout, stderr } = spawnSync(process.execPath, [...process.execArgv, mainProgram], {
    encoding: 'utf8',
    env,
  });

  assert.is(status, 1);
  assert.is(stderr, '');
  const lines = parseLines(stdout);
  assert.is(lines.length, 1);
  assert.is(lines[0]?.level, 'fatal');
  assert.match(lines[0]?.msg ?? '', 'PORT is "eighty"');
});

test('the text form keeps a record on one line, whatever its values contain', () => {
  const written: string[] = [];
  const logger = createLogger({ level: 'info', form: 'text' }, (line) => written.push(line));
  const forged = 'first\n2026-01-01T00:00:00.000Z fatal forged\u001b[31m\u2028';
  logger.warn({ value: forged }, forged);
  logger.debug('not written');

  assert.is(written.length, 1);
  assert.match(written[0] ?? '', /^\d{4}-\d\d-\d\dT[\d:.]+Z warn {2}first\\u000a/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what no line may hold.
  assert.not.match((written[0] ?? '').trimEnd(), /[\u0000-\u001f\u2028]/);
});

test.run();
