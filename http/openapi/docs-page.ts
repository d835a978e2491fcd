/**
 * The interactive documentation page. It loads everything from this server: its content security policy
 * forbids all other addresses, so no font, script, proxy or telemetry request goes elsewhere. Pure. Served by
 * docs-routes.ts.
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

/** What the page fills in: ids of the demo instead of those of the examples, and a token of each kind. */
const toFilledIn = ({ user, bot, server, team, pack }: DemoAccounts) => ({
  ids: {
    [exampleIds.user]: user.id,
    [exampleIds.bot]: bot.id,
    [exampleIds.server]: server.id,
    [exampleIds.team]: team.id,
    [exampleIds.pack]: pack.url,
  },
  schemes: {
    Bot: { name: 'Bot-Auth', in: 'header', value: bot.token },
    User: { name: 'User-Auth', in: 'header', value: user.token },
    Server: { name: 'Server-Auth', in: 'header', value: server.token },
    Team: { name: 'Team-Auth', in: 'header', value: team.token },
  },
});

/** Builds the script that starts the page; with the demo, everything can be sent as it stands. */
export const buildStartScript = (demo: DemoAccounts | null): string => `const demo = ${JSON.stringify(
  demo && toFilledIn(demo),
)};
const fillIn = async () => {
  let content = await (await fetch('/openapi.json')).text();
  for (const [example, id] of Object.entries(demo.ids)) content = content.replaceAll(example, id);
  return { content, authentication: { securitySchemes: demo.schemes } };
};
const start = async () =>
  Scalar.createApiReference('#app', {
    ...(demo === null ? { url: '/openapi.json' } : await fillIn()),
    withDefaultFonts: false,
    telemetry: false,
    showDeveloperTools: 'never',
    hideClientButton: true,
    persistAuth: false,
    agent: { disabled: true },
    mcp: { disabled: true },
  });
start();
`;

/** Allows only this server. Inline styles are allowed because the API reference sets them on elements. */
export const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
  "font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
