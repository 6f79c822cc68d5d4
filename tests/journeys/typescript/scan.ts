import { loyaltyClient } from "loyalty-client";

const [baseUrl, email, password, brand, code] = process.argv.slice(2) as [string, string, string, string, string];
const guest = loyaltyClient({ baseUrl });
const login = await guest.POST("/api/v1/auth/token", { body: { email, password, brand_id: Number(brand) } });
const client = loyaltyClient({ baseUrl, token: login.data!.access });
const scan = await client.POST("/api/v1/verify/product/{auth_code}", {
  params: { path: { auth_code: code } },
  body: { latitude: 48.85, longitude: 2.35 },
});
const refused = await client.POST("/api/v1/verify/product/{auth_code}", { params: { path: { auth_code: "NOBODYS-CODE" } } });
let points: number | undefined = 0;
for (let tries = 0; !points && tries < 100; tries++) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  points = (await client.GET("/api/v1/customer/loyalty/points")).data?.data.points;
}
console.log(JSON.stringify({ status: scan.data?.status, awarded: scan.data?.points_awarded, points, error: refused.error?.error }));
