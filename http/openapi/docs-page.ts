/**
 * The interactive documentation page. It loads everything from this server: its content security policy
 * forbids all other addresses, so no font, script, proxy or telemetry request goes elsewhere. Pure.
 */

export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rollcall API</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. The document itself:
<a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/reference.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/** Accounts of the demo directory, with tokens that everyone on this machine may use. */
export interface DemoAccounts {
  readonly user: DemoAccount;
  readonly second_user: DemoAccount;
  readonly bot: DemoAccount;
  readonly server: DemoAccount;
  readonly team: DemoAccount;
  readonly pack: { readonly url: string };
}
interface DemoAccount {
  readonly id: string;
  readonly token: string;
}

/** The ids in the examples of the document. */
export const exampleIds = {
  user: '728871946456137770',
  bot: '815553000470478850',
  server: '758641373074423808',
  team: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10',
  pack: 'night-owls',
};

/** Starts the page. With the demo, its ids and tokens are filled in: everything can be sent as it stands. */
export const startScript = `const examples = ${JSON.stringify(exampleIds)};
const schemes = { Bot: 'bot', User: 'user', Server: 'server', Team: 'team' };
const load = async (path) => (await fetch(path)).text();
const fillIn = (demo, text) => {
  let content = text;
  for (const [kind, example] of Object.entries(examples))
    content = content.replaceAll(example, demo[kind].id ?? demo[kind].url);
  const securitySchemes = {};
  for (const [scheme, kind] of Object.entries(schemes))
    securitySchemes[scheme] = { name: scheme + '-Auth', in: 'header', value: demo[kind].token };
  return { content, authentication: { securitySchemes } };
};
const start = async () => {
  const demo = JSON.parse(await load('/docs/demo.json').catch(() => 'null'));
  Scalar.createApiReference('#app', {
    ...(demo === null ? { url: '/openapi.json' } : fillIn(demo, await load('/openapi.json'))),
    withDefaultFonts: false,
    telemetry: false,
    showDeveloperTools: 'never',
    hideClientButton: true,
    persistAuth: false,
    agent: { disabled: true },
    mcp: { disabled: true },
  });
};
start();
`;

/** Allows only this server. Inline styles are allowed because the API reference sets them on elements. */
export const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
