/**
 * `npm run document`: writes docs/openapi.json, the same document that a running server serves at
 * `/openapi.json`, and the types of the client libraries.
 *
 * The file is for readers and client generators without a running server. A test compares the two.
 */
import { writeFileSync } from 'node:fs';
import { routes } from '../../http/api/table.ts';
import { buildClientTypes, buildPythonTypes, type TypedDocument } from '../../http/openapi/client-types.ts';
import { buildOpenApiDocument } from '../../http/openapi/document.ts';
import { parseOptions } from './options.ts';

parseOptions(import.meta.filename, {});

const text = `${JSON.stringify(buildOpenApiDocument(routes), null, 1)}\n`;
writeFileSync(new URL('../../docs/openapi.json', import.meta.url), text);
const written = JSON.parse(text) as TypedDocument;
const client = new URL('../../http/client/types.ts', import.meta.url);
const python = new URL('../../http/client-python/rollcall_client/_types.py', import.meta.url);
writeFileSync(client, buildClientTypes(written));
writeFileSync(python, buildPythonTypes(written));
process.stdout.write(`docs/openapi.json: ${routes.length} operations\n`);
