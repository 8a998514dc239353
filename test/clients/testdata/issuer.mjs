// An issuer of OpenID Connect that is not ours, oidc-provider, with accounts that a test knows: alice, whose address is
// verified, bob, whose is not, and carol, who is of the admins. Prints its address, and ends with its input.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const accounts = {
  alice: { email: "alice@home.example", email_verified: true, groups: ["users"] },
  bob: { email: "alice@home.example", email_verified: false, groups: ["users"] },
  carol: { email: "carol@home.example", email_verified: true, groups: ["users", "admins"] },
};

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const address = `http://${process.argv[2] ?? "127.0.0.1"}:${server.address().port}`;
  const provider = new Provider(address, {
    clients: [
      { client_id: "hermes", client_secret: "of-the-client", redirect_uris: ["http://127.0.0.1/auth/callback"], application_type: "native", token_endpoint_auth_method: "client_secret_basic" },
      { client_id: "public", redirect_uris: ["http://127.0.0.1/auth/callback"], application_type: "native", token_endpoint_auth_method: "none" },
    ],
    claims: { email: ["email", "email_verified"], groups: ["groups"], profile: ["preferred_username"] },
    scopes: ["openid", "profile", "email", "groups"],
    pkce: { required: () => true },
    cookies: { keys: ["of this test"] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id, ...accounts[id] }) }),
  });
  server.on("request", provider.callback());
  console.log(address);
});
process.stdin.on("end", () => process.exit(0)).resume();
