/**
 * The user of this tab: an account from a login, in sessionStorage, or accounts of the demo.
 */

/** A user with a token. */
export interface Account {
  readonly id: string;
  readonly token: string;
  /** `''` for an account of the demo. */
  readonly session: string;
}

const accountKey = 'rollcall-account';
const loginKey = 'rollcall-login';

const readStored = (key: string): unknown => JSON.parse(sessionStorage.getItem(key) ?? 'null');

export const readAccount = (): Account | null => readStored(accountKey) as Account | null;

/** Removes the account from this tab, and revokes its token. */
export const forgetAccount = async (): Promise<void> => {
  const account = readAccount();
  sessionStorage.removeItem(accountKey);
  if (account === null) return;
  const path = `/users/${encodeURIComponent(account.id)}/sessions/${encodeURIComponent(account.session)}`;
  await fetch(path, { method: 'DELETE', headers: { 'User-Auth': account.token } }).catch(() => null);
};

/** Finds the users that a page of the demo may act for; none without the demo. */
export const findDemoAccounts = async (): Promise<readonly Account[]> => {
  const reply = await fetch('/docs/demo.json').catch(() => null);
  const demo = reply?.ok ? await reply.json() : null;
  return demo === null ? [] : [demo.user, demo.second_user].map((user) => ({ ...user, session: '' }));
};

/** A login that was begun: what to compare, and where to go on. */
interface BegunLogin {
  readonly state: string;
  readonly clientId: string;
  readonly returnTo: string;
}

const redirectUri = `${location.origin}/login`;

/** Leaves for the login provider. Resolves to a message when there is none. */
export const startLogin = async (returnTo: string): Promise<string> => {
  const reply = await fetch(`/auth/login/chat-oauth2?redirect_uri=${encodeURIComponent(redirectUri)}`);
  const json = await reply.json();
  if (reply.status === 404) return 'This directory has no login, so it takes no votes here.';
  if (!reply.ok) return String(json.message);
  const begun: BegunLogin = { state: json.state, clientId: json.client_id, returnTo };
  sessionStorage.setItem(loginKey, JSON.stringify(begun));
  location.assign(json.url);
  return '';
};

/** Ends a login with what the provider sent back. Resolves to where to go on, or to a message. */
export const completeLogin = async (
  query: URLSearchParams,
): Promise<{ readonly returnTo: string } | { readonly message: string }> => {
  const begun = readStored(loginKey) as BegunLogin | null;
  sessionStorage.removeItem(loginKey);
  const code = query.get('code');
  if (begun === null || code === null || query.get('state') !== begun.state)
    return { message: 'The login was not finished. Go back and try again.' };
  const body = {
    client_id: begun.clientId,
    code,
    protocol: 'persepolis',
    redirect_uri: redirectUri,
    scope: 'normal',
    state: begun.state,
  };
  const reply = await fetch('/auth/login/chat-oauth2', { method: 'POST', body: JSON.stringify(body) });
  const json = await reply.json();
  if (!reply.ok) return { message: String(json.message) };
  const account: Account = { id: json.target_id, token: json.token, session: json.session_id };
  sessionStorage.setItem(accountKey, JSON.stringify(account));
  return { returnTo: begun.returnTo };
};
