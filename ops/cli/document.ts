/**
 * `npm run document`: writes docs/openapi.json, the same document that a running server serves at
 * `/openapi.json`, the types of the client libraries, docs/vectors.json, and the pages of docs/reference.
 *
 * The files are for readers and client generators without a running server. Tests compare them.
 */
import { writeFileSync } from 'node:fs';
import { routes } from '../../http/api/table.ts';
import { buildClientTypes, buildPythonTypes, type TypedDocument } from '../../http/openapi/client-types.ts';
import { buildOpenApiDocument } from '../../http/openapi/document.ts';
import { vectors as cases } from '../../http/vectors/cases.ts';
import { parseOptions } from './options.ts';
import { buildReference } from './reference/pages.ts';

parseOptions(import.meta.filename, {});

const text = `${JSON.stringify(buildOpenApiDocument(routes), null, 1)}\n`;
writeFileSync(new URL('../../docs/openapi.json', import.meta.url), text);
const written = JSON.parse(text) as TypedDocument;
const client = new URL('../../http/client/types.ts', import.meta.url);
const python = new URL('../../http/client-python/rollcall_client/_types.py', import.meta.url);
writeFileSync(client, buildClientTypes(written));
writeFileSync(python, buildPythonTypes(written));
const vectors = { about: 'Cases for clients: docs/bots/write-a-client.md', cases };
writeFileSync(new URL('../../docs/vectors.json', import.meta.url), `${JSON.stringify(vectors, null, 1)}\n`);
for (const [name, page] of await buildReference(JSON.parse(text)))
  writeFileSync(new URL(`../../docs/reference/${name}`, import.meta.url), page);
process.stdout.write(`docs/openapi.json: ${routes.length} operations\n`);
