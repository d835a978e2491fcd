/**
 * `npm run bench -- tokens FOLDER`: writes bots and users for a load on another server (`--url`), as a file
 * to import there and a file of their tokens.
 *
 * The import file contains hashes only; only the owner may read the file of tokens. Connects to no server.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { flag, parseArguments, parseWords, text } from '../arguments.ts';
import { ArgumentError, parseCount } from '../options.ts';
import { countTargetUsers } from '../plan.ts';
import { createDirectory, toImportLines } from '../scenarios/directory.ts';

const usage = `Usage: npm run bench -- tokens FOLDER [--bots N] [--users N]

Writes FOLDER/directory.jsonl and FOLDER/tokens.json: made-up bots (1000) and users, with a token each
that expires after 30 days. By default there are as many users as the votes of the printed command need.
`;

const serverUrl = 'http://127.0.0.1:8080';
const ownerOnly = { mode: 0o600, flag: 'wx' } as const;

/** Returns text for the terminal. Throws `ArgumentError`; never overwrites a file. */
export const runTokens = (args: readonly string[]): string => {
  const { values, positionals } = parseWords(args, { bots: text, users: text, help: flag }, true);
  if (values.help) return usage;
  const [folder, more] = positionals;
  if (folder === undefined || more !== undefined)
    throw new ArgumentError(`tokens needs one folder.\n\n${usage}`);
  const [imported, tokens] = [join(folder, 'directory.jsonl'), join(folder, 'tokens.json')];
  const bots = parseCount('bots', values.bots ?? '1000', [1, 100_000]);
  const printed = parseArguments(['--url', serverUrl, '--tokens', tokens]);
  const needed = String(countTargetUsers({ ...printed, bots }));
  const directory = createDirectory({
    bots,
    users: parseCount('users', values.users ?? needed, [1, 1_000_000]),
  });
  for (const file of [imported, tokens]) {
    if (existsSync(file)) throw new ArgumentError(`${file} exists: name another folder, or remove it.`);
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(imported, toImportLines(directory), ownerOnly);
  writeFileSync(tokens, `${JSON.stringify(directory)}\n`, ownerOnly);
  return `Import it with the settings of the server:
  npm run ops -- import ${imported}
Then, with the server running:
  npm run bench -- --url ${serverUrl} --tokens ${tokens}`;
};
