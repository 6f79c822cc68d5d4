import { loyaltyClient } from "loyalty-client";

const client = loyaltyClient({ baseUrl: "http://127.0.0.1" });
await client.GET("/api/v1/nothing", {});
const { data } = await client.GET("/api/v1/customer/loyalty/points");
console.log(data!.data.nothing);
