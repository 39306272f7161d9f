<#-- what a customer is told -->
<#import "layout.ftl" as layout>
<@layout.page title="Order">
<h1>Order ${order.number}</h1>
<#if order.items?has_content>
  <ul>
  <#list order.items as item>
    <li>${item.name}: ${item.count}</li>
  </#list>
  </ul>
<#else>
  <p>none</p>
</#if>
<#macro total amount
    currency="EUR">
  <b>${amount} ${currency}</b>
</#macro>
<@total amount=order.total />
</@layout.page>
