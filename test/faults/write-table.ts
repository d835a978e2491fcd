/**
 * `npm run test:figures [-- FILE]`: writes the tables of docs/reliability.md from figures.jsonl; with a FILE,
 * the saved output of a run of `npm run test:faults`, it first takes over that run's figures.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseOptions } from '../../ops/cli/options.ts';
import { parseFigures, type Row, refresh, writeTables } from './harness/table.ts';

const rowsUrl = new URL('./figures.jsonl', import.meta.url);
const documentUrl = new URL('../../docs/reliability.md', import.meta.url);

const [log] = parseOptions(import.meta.filename, { allowPositionals: true }).positionals;
const figures = parseFigures(log === undefined ? '' : readFileSync(log, 'utf8'));
const lines = readFileSync(rowsUrl, 'utf8').trim().split('\n');
const rows = lines.map((line) => refresh(JSON.parse(line) as Row, figures));
writeFileSync(rowsUrl, `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
writeFileSync(documentUrl, writeTables(readFileSync(documentUrl, 'utf8'), rows));
