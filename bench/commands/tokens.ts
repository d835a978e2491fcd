/**
 * `tokens FOLDER`: writes bots and users for a load on another server (`--url`), as a file to import there
 * and a file of their tokens.
 *
 * The import file contains hashes only; only the owner may read the file of tokens. Connects to no server.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArguments } from '../arguments.ts';
import { ArgumentError, count, describeOptions, flag, parseOptions } from '../options.ts';
import { countTargetUsers } from '../plan.ts';
import { createDirectory, toImportLines } from '../scenarios/directory.ts';

const options = {
  bots: count(1_000, [1, 100_000], 'made-up bots, with a token each that expires after 30 days'),
  users: count(null, [1, 1_000_000], 'users; by default as many as the votes of the printed command need'),
  help: flag('this text'),
};
const usage = `Usage: npm run bench -- tokens FOLDER [options]

Writes FOLDER/directory.jsonl and FOLDER/tokens.json.

${describeOptions(options)}`;

const serverUrl = 'http://127.0.0.1:8080';
const ownerOnly = { mode: 0o600, flag: 'wx' } as const;

/** Returns text for the terminal. Throws `ArgumentError`; never overwrites a file. */
export const runTokens = (args: readonly string[]): string => {
  const { values, operands } = parseOptions(options, args, true);
  if (values.help) return usage;
  const [folder, more] = operands;
  if (folder === undefined || more !== undefined)
    throw new ArgumentError(`tokens needs one folder.\n\n${usage}`);
  const [imported, tokens] = [join(folder, 'directory.jsonl'), join(folder, 'tokens.json')];
  const { bots } = values;
  const printed = parseArguments(['--url', serverUrl, '--tokens', tokens]);
  const directory = createDirectory({ bots, users: values.users ?? countTargetUsers({ ...printed, bots }) });
  for (const file of [imported, tokens])
    if (existsSync(file)) throw new ArgumentError(`${file} exists: name another folder, or remove it.`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(imported, toImportLines(directory), ownerOnly);
  writeFileSync(tokens, `${JSON.stringify(directory)}\n`, ownerOnly);
  return `Import it with the settings of the server:
  npm run ops -- import ${imported}
Then, with the server running:
  npm run bench -- --url ${serverUrl} --tokens ${tokens}`;
};

export const tokens = {
  name: 'tokens',
  operands: 'FOLDER',
  about: 'bots, users and tokens for another server',
  run: async (words: readonly string[]): Promise<number> => {
    console.log(runTokens(words));
    return 0;
  },
};
